#include "policy/cures.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "policy/errno_text.h"

namespace cloche {
namespace {

using testing::HasSubstr;

struct Failure {
  SpawnStep step;
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
      {SpawnStep::kNamespaces, "clone3", EPERM, ubuntu, "apparmor_restrict_unprivileged_userns=0"},
      {SpawnStep::kNamespaces, "write uid_map", EACCES, ubuntu,
       "apparmor_restrict_unprivileged_userns=0"},
      {SpawnStep::kMounts, "make mounts slave", EACCES, ubuntu, "sudo make install"},
      {SpawnStep::kMounts, "make mounts slave", EPERM, ubuntu, "sudo make install"},
      {SpawnStep::kNamespaces, "clone3", EPERM, hardened, "unprivileged_userns_clone=1"},
      {SpawnStep::kNamespaces, "clone3", EPERM, container, "docker run --privileged"},
      {SpawnStep::kNamespaces, "clone3", EPERM, rootless, "run the daemon as root"},
      {SpawnStep::kNamespaces, "clone3", ENOSPC, {}, "user.max_user_namespaces"},
      {SpawnStep::kOverlay, "fsconfig", EINVAL, {}, "ext4, xfs, btrfs or tmpfs"},
      {SpawnStep::kOverlay, "fsconfig", EINVAL, container, "volume"},
      {SpawnStep::kIdmap, "mount_setattr", EINVAL, {}, "ext4"},
      {SpawnStep::kMounts, "mount proc", EPERM, container, "systempaths=unconfined"},
      {SpawnStep::kPool, "mark upper", EOPNOTSUPP, rootless, "without --in-memory"},
      {SpawnStep::kPool, "mkfs.btrfs", ENOENT, {}, "btrfs-progs"},
      {SpawnStep::kPool, "lock pool", EAGAIN, {}, "stop that one"},
      {SpawnStep::kPool, "fallocate", ENOSPC, {}, "cloche rm"},
      {SpawnStep::kPool, "ioctl", EDQUOT, {}, "cloche rm"},
      {SpawnStep::kLandlock, "landlock_create_ruleset", ENOSYS, {}, "CONFIG_SECURITY_LANDLOCK"},
      {SpawnStep::kLandlock, "landlock_create_ruleset", EOPNOTSUPP, {}, "lsm=landlock"},
      {SpawnStep::kAppArmor, "enter profile", ENOENT, {}, "apparmor_parser -r"},
      {SpawnStep::kAppArmor, "enter profile", EPERM, {}, "apparmor_parser -r"},
      {SpawnStep::kSeccomp, "seccomp", EINVAL, {}, "CONFIG_SECCOMP_FILTER"},
      {SpawnStep::kCgroup, "mkdir", EACCES, rootless, "Delegate=yes"},
      {SpawnStep::kFiles, "openat", EMFILE, {}, "LimitNOFILE"},
      {SpawnStep::kPlan, "source is the host's root", EPERM, {}, "directories that are needed"},
      {SpawnStep::kPlan, "source is a link", EPERM, {}, "realpath prints"},
      {SpawnStep::kPlan, "base is a link", EPERM, {}, "realpath"},
  };
  for (const Failure& failure : failures) {
    const Error error =
        ExplainLaunchFailure(failure.step, failure.operation, failure.error, "/x", failure.facts);
    EXPECT_THAT(error.cure, HasSubstr(failure.cure)) << error.message;
    EXPECT_NE(error.code, Code::kInternal) << error.message;
    EXPECT_THAT(error.message, HasSubstr(failure.operation));
    EXPECT_THAT(error.message, HasSubstr(std::string(ErrnoName(failure.error))));
  }
}

TEST(Cures, AnUnknownFailureStillSaysWhatHappened) {
  const Error error = ExplainLaunchFailure(SpawnStep::kPivot, "x", 9999, "", {});
  EXPECT_THAT(error.message, HasSubstr("error 9999"));
  const Error odd = ExplainLaunchFailure(SpawnStep::kPrivileges, "capset", EPERM, "", {});
  EXPECT_EQ(odd.code, Code::kInternal);
  EXPECT_THAT(odd.message, HasSubstr("drop privileges: not permitted (capset: EPERM)"));
  EXPECT_NE(odd.cure, "");
}

TEST(Cures, DetailCannotPaintTheTerminal) {
  const Error error = ExplainLaunchFailure(SpawnStep::kMounts, "open", ENOENT, "/a\x1b[2J", {});
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cloche
