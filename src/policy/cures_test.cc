#include "policy/cures.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "policy/errno_text.h"

namespace cloche {
namespace {

using testing::HasSubstr;

struct Failure {
  SpawnStage stage;
  const char* operation;
  int error;
  HostFacts facts;
  const char* cure;
};

TEST(Cures, EachFailureThatUsersMeetHasOne) {
  const HostFacts rootless{.mode = Mode::kRootless};
  HostFacts ubuntu = rootless;
  ubuntu.apparmor_restricts_userns = true;
  HostFacts hardened = rootless;
  hardened.userns_disabled = true;
  HostFacts container;
  container.in_container = true;
  const std::vector<Failure> failures = {
      {SpawnStage::kNamespaces, "clone3", EPERM, ubuntu, "apparmor_restrict_unprivileged_userns=0"},
      {SpawnStage::kNamespaces, "write uid_map", EACCES, ubuntu,
       "apparmor_restrict_unprivileged_userns=0"},
      {SpawnStage::kMounts, "make mounts slave", EACCES, ubuntu, "sudo make install"},
      {SpawnStage::kMounts, "make mounts slave", EPERM, ubuntu, "sudo make install"},
      {SpawnStage::kNamespaces, "clone3", EPERM, hardened, "unprivileged_userns_clone=1"},
      {SpawnStage::kNamespaces, "clone3", EPERM, container, "docker run --privileged"},
      {SpawnStage::kNamespaces, "clone3", EPERM, rootless, "run the daemon as root"},
      {SpawnStage::kNamespaces, "clone3", ENOSPC, {}, "user.max_user_namespaces"},
      {SpawnStage::kOverlay, "fsconfig", EINVAL, {}, "ext4, xfs, btrfs or tmpfs"},
      {SpawnStage::kOverlay, "fsconfig", EINVAL, container, "volume"},
      {SpawnStage::kIdmap, "mount_setattr", EINVAL, {}, "ext4"},
      {SpawnStage::kMounts, "mount proc", EPERM, container, "systempaths=unconfined"},
      {SpawnStage::kPool, "mark upper", EOPNOTSUPP, rootless, "without --in-memory"},
      {SpawnStage::kPool, "mkfs.btrfs", ENOENT, {}, "btrfs-progs"},
      {SpawnStage::kPool, "lock pool", EAGAIN, {}, "stop that one"},
      {SpawnStage::kPool, "fallocate", ENOSPC, {}, "cloche rm"},
      {SpawnStage::kPool, "ioctl", EDQUOT, {}, "cloche rm"},
      {SpawnStage::kLandlock, "landlock_create_ruleset", ENOSYS, {}, "CONFIG_SECURITY_LANDLOCK"},
      {SpawnStage::kLandlock, "landlock_create_ruleset", EOPNOTSUPP, {}, "lsm=landlock"},
      {SpawnStage::kAppArmor, "enter profile", ENOENT, {}, "apparmor_parser -r"},
      {SpawnStage::kAppArmor, "enter profile", EPERM, {}, "apparmor_parser -r"},
      {SpawnStage::kSeccomp, "seccomp", EINVAL, {}, "CONFIG_SECCOMP_FILTER"},
      {SpawnStage::kCgroup, "mkdir", EACCES, rootless, "Delegate=yes"},
      {SpawnStage::kFiles, "openat", EMFILE, {}, "LimitNOFILE"},
      {SpawnStage::kPlan, "source is the host's root", EPERM, {}, "without --base"},
      {SpawnStage::kPlan, "source is a link", EPERM, {}, "realpath prints"},
      {SpawnStage::kPlan, "base is a link", EPERM, {}, "realpath"},
  };
  for (const Failure& failure : failures) {
    const Error error =
        ExplainLaunchFailure(failure.stage, failure.operation, failure.error, "/x", failure.facts);
    EXPECT_THAT(error.cure, HasSubstr(failure.cure)) << error.message;
    EXPECT_NE(error.code, Code::kInternal) << error.message;
    EXPECT_THAT(error.message, HasSubstr(failure.operation));
    EXPECT_THAT(error.message, HasSubstr(std::string(ErrnoName(failure.error))));
  }
}

TEST(Cures, AnUnknownFailureStillSaysWhatHappened) {
  const Error error = ExplainLaunchFailure(SpawnStage::kPivot, "x", 9999, "", {});
  EXPECT_THAT(error.message, HasSubstr("error 9999"));
  const Error odd = ExplainLaunchFailure(SpawnStage::kPrivileges, "capset", EPERM, "", {});
  EXPECT_EQ(odd.code, Code::kInternal);
  EXPECT_THAT(odd.message, HasSubstr("drop privileges: not permitted (capset: EPERM)"));
  EXPECT_NE(odd.cure, "");
}

TEST(Cures, DetailCannotPaintTheTerminal) {
  const Error error = ExplainLaunchFailure(SpawnStage::kMounts, "open", ENOENT, "/a\x1b[2J", {});
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cloche
