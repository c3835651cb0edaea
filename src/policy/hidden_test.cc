#include "policy/hidden.h"

#include <gmock/gmock.h>

namespace cloche {
namespace {

const UserFacts kAnna{.uid = 1000, .gid = 1000, .groups = {}, .name = "anna", .home = "/home/anna"};

HostFacts Machine() {
  return {.other_homes = {"/root", "/home/bob", "/", "/usr/sbin", "/home/anna"},
          .cloche_paths = {"/var/lib/cloche", "/run/cloche"}};
}

TEST(Hidden, HidesCredentialsHistoriesAndOtherHomes) {
  const HiddenSet hidden = DefaultHidden(Machine(), kAnna, {});
  for (const char* path : {"/home/anna/.ssh/id_ed25519",
                           "/home/anna/.aws/credentials",
                           "/home/anna/.gnupg",
                           "/home/anna/.netrc",
                           "/home/anna/.git-credentials",
                           "/home/anna/.config/gcloud/x",
                           "/home/anna/.kube/config",
                           "/home/anna/.docker/config.json",
                           "/home/anna/.npmrc",
                           "/home/anna/.pypirc",
                           "/home/anna/.cargo/credentials.toml",
                           "/home/anna/.mozilla",
                           "/home/anna/.local/share/keyrings",
                           "/home/anna/.bash_history",
                           "/home/anna/.psql_history",
                           "/etc/ssh/ssh_host_ed25519_key",
                           "/etc/ssl/private/x.key",
                           "/home/bob/anything",
                           "/root",
                           "/var/lib/cloche/x",
                           "/etc/shadow-"})
    EXPECT_TRUE(hidden.Hides(path)) << path;
  for (const char* path : {"/", "/usr/sbin", "/home/anna", "/home/anna/.sshx", "/etc/ssl/certs",
                           "/home/anna/.config", "/home/bobby", "/etc/shadow", "/etc/ssh"})
    EXPECT_FALSE(hidden.Hides(path)) << path;
}

TEST(Hidden, HomeIsHiddenByBothItsNames) {
  const HiddenSet hidden = DefaultHidden(Machine(), kAnna, {.home = "/srv/anna"});
  EXPECT_TRUE(hidden.Hides("/home/anna/.ssh"));
  EXPECT_TRUE(hidden.Hides("/srv/anna/.ssh"));
}

TEST(Hidden, AProjectInAnotherHomeKeepsItVisibleButNotItsCredentials) {
  const HiddenSet hidden = DefaultHidden(Machine(), kAnna, {.cwd = "/home/bob/shared/p"});
  EXPECT_FALSE(hidden.Hides("/home/bob/shared"));
  EXPECT_TRUE(hidden.Hides("/home/bob/.ssh"));
  ASSERT_EQ(hidden.differences.size(), 1u);
  EXPECT_EQ(hidden.differences[0].what, "/home/bob is visible");
}

TEST(Hidden, WorkingInAHiddenDirectoryOrNamingItShowsIt) {
  EXPECT_FALSE(
      DefaultHidden(Machine(), kAnna, {.cwd = "/home/anna/.aws"}).Hides("/home/anna/.aws"));
  const HiddenSet hidden = DefaultHidden(Machine(), kAnna, {.ro = {"/home/anna/.kube"}});
  EXPECT_FALSE(hidden.Hides("/home/anna/.kube"));
  EXPECT_EQ(hidden.differences.size(), 1u);
}

TEST(Hidden, ClochesOwnStateIsNeverShown) {
  EXPECT_TRUE(
      DefaultHidden(Machine(), kAnna, {.cwd = "/var/lib/cloche/x"}).Hides("/var/lib/cloche"));
}

HostMount Mounted(std::string target, std::string type, std::string device, std::string root) {
  HostMount mount;
  mount.target = std::move(target);
  mount.fs_type = std::move(type);
  mount.device = std::move(device);
  mount.root = std::move(root);
  return mount;
}

TEST(Hidden, HidesAPathWhereverItIsMounted) {
  HostFacts machine = Machine();
  machine.mounts = {Mounted("/", "ext4", "8:1", "/"),
                    Mounted("/home", "btrfs", "0:40", "/@home"),
                    Mounted("/mnt/all", "btrfs", "0:40", "/"),
                    Mounted("/mnt/anna", "btrfs", "0:40", "/@home/anna"),
                    Mounted("/mnt/keys", "btrfs", "0:40", "/@home/anna/.ssh"),
                    Mounted("/mnt/deep", "btrfs", "0:40", "/@home/anna/.config/gcloud/x"),
                    Mounted("/mnt/other", "ext4", "8:2", "/@home/anna"),
                    Mounted("/srv/root", "ext4", "8:1", "/")};
  const HiddenSet hidden = DefaultHidden(machine, kAnna, {});
  for (const char* path :
       {"/home/anna/.ssh", "/mnt/all/@home/anna/.ssh", "/mnt/anna/.ssh", "/mnt/keys", "/mnt/deep",
        "/mnt/all/@home/bob", "/srv/root/etc/ssl/private", "/srv/root/var/lib/cloche",
        "/srv/root/root"})
    EXPECT_TRUE(hidden.Hides(path)) << path;
  for (const char* path : {"/mnt/anna", "/mnt/all", "/mnt/all/@home/anna", "/mnt/other/.ssh",
                           "/srv/root", "/srv/root/home"})
    EXPECT_FALSE(hidden.Hides(path)) << path;
}

TEST(Hidden, WorkingInASecondPlaceKeepsItVisibleButNotItsCredentials) {
  HostFacts machine = Machine();
  machine.mounts = {Mounted("/", "ext4", "8:1", "/"),
                    Mounted("/srv/shared", "ext4", "8:1", "/home/bob/shared")};
  EXPECT_TRUE(DefaultHidden(machine, kAnna, {}).Hides("/srv/shared"));
  EXPECT_FALSE(DefaultHidden(machine, kAnna, {.cwd = "/srv/shared/p"}).Hides("/srv/shared"));
}

TEST(Hidden, TreesOfSnapshotsAreHiddenInEveryFileSystem) {
  HostFacts machine = Machine();
  machine.mounts = {Mounted("/", "btrfs", "0:30", "/@"),
                    Mounted("/home", "btrfs", "0:30", "/@home"),
                    Mounted("/.snapshots", "btrfs", "0:30", "/@snapshots"),
                    Mounted("/mnt/top", "btrfs", "0:30", "/"),
                    Mounted("/tank", "zfs", "0:50", "/"),
                    Mounted("/run/media/backup", "ext4", "8:17", "/")};
  const HiddenSet hidden = DefaultHidden(machine, kAnna, {});
  for (const char* path : {"/.snapshots/1", "/home/.snapshots", "/mnt/top/@snapshots", "/timeshift",
                           "/tank/.zfs/snapshot", "/home/anna/.snapshots", "/mnt/top/_btrbk_snap",
                           "/run/media/backup/timeshift", "/mnt/top/timeshift-btrfs"})
    EXPECT_TRUE(hidden.Hides(path)) << path;
  // A file system that was named whole is shown whole.
  EXPECT_FALSE(DefaultHidden(machine, kAnna, {.ro = {"/tank"}}).Hides("/tank/.zfs"));
}

TEST(Hidden, IgnoresDeletedMountPoints) {
  HostFacts machine = Machine();
  machine.mounts = {Mounted("/", "ext4", "8:1", "/"), Mounted("/mnt//deleted", "ext4", "8:1", "/"),
                    Mounted("/mnt/a", "ext4", "8:1", "/srv/a//deleted")};
  for (const HiddenPath& hidden : DefaultHidden(machine, kAnna, {}).paths)
    EXPECT_EQ(hidden.path.find("//"), std::string::npos) << hidden.path;
}

TEST(Hidden, NothingIsListedTwiceOrBelowAnother) {
  const HiddenSet hidden = DefaultHidden(Machine(), kAnna, {.home = "/home/anna"});
  for (size_t i = 0; i < hidden.paths.size(); ++i)
    for (size_t j = 0; j < hidden.paths.size(); ++j)
      if (i != j) {
        EXPECT_FALSE(hidden.paths[i].path.starts_with(hidden.paths[j].path + "/"))
            << hidden.paths[i].path;
        EXPECT_NE(hidden.paths[i].path, hidden.paths[j].path);
      }
}

}  // namespace
}  // namespace cloche
