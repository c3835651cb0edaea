#include "sys/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/kernel_abi.h"

namespace cloche::sys {
namespace {

constexpr uint64_t kFirstAbiRights = (1u << 13) - 1;  // EXECUTE .. MAKE_SYM
constexpr uint64_t kNeverBeneathRoot =
    kLandlockFsMakeChar | kLandlockFsMakeBlock | kLandlockFsIoctlDev;

// Our own devpts, and the nodes spawn puts into /dev. Missing ones grant nothing.
constexpr const char* kDevices[] = {"/dev/pts",  "/dev/ptmx", "/dev/tty",    "/dev/null",
                                    "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

LandlockDomain WithScopes(int abi, LandlockDomain domain) {
  if (abi >= 6) domain.scoped = kLandlockScopeAbstractSocket | kLandlockScopeSignal;
  // A sandbox must not be able to flood the host's audit log, not even through its own domains.
  if (abi >= 7) domain.restrict_flags = kLandlockLogSameExecOff | kLandlockLogSubdomainsOff;
  return domain;
}

int Allow(int ruleset, const char* path, uint64_t rights) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = fd;
  const long added = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  const int error = added == 0 ? 0 : errno;
  close(fd);
  return error;
}

LandlockFailure Fill(int ruleset, uint64_t handled) {
  const uint64_t everywhere = handled & ~kNeverBeneathRoot;
  if (everywhere != 0) {
    if (const int error = Allow(ruleset, "/", everywhere)) {
      return {"landlock_add_rule", "/", error};
    }
  }
  if ((handled & kLandlockFsIoctlDev) == 0) return {};
  for (const char* path : kDevices) {
    const int error = Allow(ruleset, path, kLandlockFsIoctlDev);
    if (error != 0 && error != ENOENT) return {"landlock_add_rule", path, error};
  }
  return {};
}

}  // namespace

int LandlockAbi() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

LandlockDomain FullLandlockDomain(int abi) {
  LandlockDomain domain;
  if (abi < 1) return domain;
  domain.handled_fs = kFirstAbiRights;
  if (abi >= 2) domain.handled_fs |= kLandlockFsRefer;
  if (abi >= 3) domain.handled_fs |= kLandlockFsTruncate;
  if (abi >= 5) domain.handled_fs |= kLandlockFsIoctlDev;
  if (abi >= 9) domain.handled_fs |= kLandlockFsResolveUnix;
  return WithScopes(abi, domain);
}

LandlockDomain DeviceLandlockDomain(int abi) {
  LandlockDomain domain;
  if (abi < 1) return domain;
  domain.handled_fs = kNeverBeneathRoot & FullLandlockDomain(abi).handled_fs;
  // Every domain refuses renames between directories unless REFER is handled and granted.
  if (abi >= 2) domain.handled_fs |= kLandlockFsRefer;
  return WithScopes(abi, domain);
}

LandlockFailure EnterLandlock(const LandlockDomain& domain) {
  const LandlockRulesetAttr attributes{domain.handled_fs, 0, domain.scoped};
  const long ruleset = syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (ruleset < 0) return {"landlock_create_ruleset", "", errno};
  LandlockFailure failure = Fill(static_cast<int>(ruleset), domain.handled_fs);
  if (failure.operation == nullptr &&
      syscall(SYS_landlock_restrict_self, ruleset, domain.restrict_flags) != 0) {
    failure = {"landlock_restrict_self", "", errno};
  }
  close(static_cast<int>(ruleset));
  return failure;
}

}  // namespace cloche::sys
