// Domains of helpers; cloche-spawn does not enter them, and so does not link this.
#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/kernel_abi.h"
#include "sys/landlock.h"

namespace cloche::sys {
namespace {

LandlockFailure EnterRuleset(uint64_t handled, int abi, std::span<const LandlockGrant> grants) {
  const LandlockDomain full = FullLandlockDomain(abi);
  const uint64_t network = abi >= 4 ? kLandlockNetBindTcp | kLandlockNetConnectTcp : 0;
  const LandlockRulesetAttr attributes{handled, network, full.scoped};
  const long ruleset = syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (ruleset < 0) return {"landlock_create_ruleset", "", errno};
  LandlockFailure failure;
  for (const LandlockGrant& grant : grants) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access =
        grant.whole ? handled & ~uint64_t{LANDLOCK_ACCESS_FS_EXECUTE} & ~kLandlockFsIoctlDev
                    : uint64_t{LANDLOCK_ACCESS_FS_REMOVE_DIR};
    rule.parent_fd = grant.directory;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
      failure = {"landlock_add_rule", "", errno};
  }
  if (failure.operation == nullptr && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    failure = {"landlock_restrict_self", "", errno};
  close(static_cast<int>(ruleset));
  return failure;
}

// Everything except reading.
uint64_t WritingRights(int abi) {
  return FullLandlockDomain(abi).handled_fs &
         ~uint64_t{LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR};
}

}  // namespace

LandlockFailure EnterReadOnlyDomain() {
  const int abi = LandlockAbi();
  if (abi < 1) return {"landlock_create_ruleset", "", ENOSYS};
  return EnterRuleset(WritingRights(abi), abi, {});
}

LandlockFailure EnterWritingDomain(std::span<const LandlockGrant> grants) {
  const int abi = LandlockAbi();
  if (abi < 2) return {"landlock_create_ruleset", "", ENOSYS};
  return EnterRuleset(WritingRights(abi), abi, grants);
}

}  // namespace cloche::sys
