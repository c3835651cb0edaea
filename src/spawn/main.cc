// cloche-spawn: the only privileged code. Started by cloched with one end of a socketpair; takes
// launch plans, checks and executes them, decides nothing. Single-threaded, no exceptions.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spawn/child.h"
#include "spawn/server.h"
#include "sys/file.h"
#include "sys/landlock.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/watch_reserve.h"

namespace cloche::spawn {
namespace {

// The kernel charges what all sandboxes use to this namespace and to the account, too: leave half
// of its inotify instances to the user.
OrFailure<void> LeaveShareToUser(int64_t instances) {
  const char* file = "/proc/sys/user/max_inotify_instances";
  if (instances < 2 || access(file, F_OK) < 0) return {};
  if (int error = sys::WriteFileAt(AT_FDCWD, file, std::to_string(instances / 2)); error < 0)
    return Failed(SpawnStep::kNamespaces, "limit inotify", error, file);
  return {};
}

// Rootless: root over our own mounts only. The map holds just our uid.
OrFailure<void> BecomeOwnRoot() {
  std::string uid = std::to_string(getuid()), gid = std::to_string(getgid());
  const int64_t instances = sys::ReadNumberAt(AT_FDCWD, "/proc/sys/fs/inotify/max_user_instances");
  if (int error = sys::EnterOwnUserAndMountNamespace(); error < 0)
    return Failed(SpawnStep::kNamespaces, "unshare user namespace", error);
  auto put = [](const char* file, const std::string& value) -> OrFailure<void> {
    if (int error = sys::WriteFileAt(AT_FDCWD, file, value); error < 0)
      return Failed(SpawnStep::kNamespaces, "write id map", error, file);
    return {};
  };
  if (auto done = put("/proc/self/setgroups", "deny"); !done) return done;
  if (auto done = put("/proc/self/uid_map", uid + " " + uid + " 1\n"); !done) return done;
  if (auto done = put("/proc/self/gid_map", gid + " " + gid + " 1\n"); !done) return done;
  return LeaveShareToUser(instances);
}

OrFailure<std::string> MakeScratch(const std::string& state_path) {
  std::string scratch = state_path + "/mnt";
  mkdir(scratch.c_str(), 0700);
  sys::FsContext tmpfs("tmpfs");
  tmpfs.String("source", "cloche").Number("mode", 0700, 8);
  sys::Fd mount(tmpfs.Mount(sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoExec));
  if (!mount.valid()) return Failed(SpawnStep::kMounts, "mount scratch", mount.get());
  if (int error = sys::AttachMount(mount.get(), AT_FDCWD, scratch.c_str()); error < 0)
    return Failed(SpawnStep::kMounts, "attach scratch", error, scratch);
  for (const char* name : {"lower", "mask", "upper"})
    if (mkdirat(mount.get(), name, 0700) < 0)
      return Failed(SpawnStep::kMounts, "make scratch", errno);
  return scratch;
}

// A tag for cgroups: daemons with different state directories coexist.
std::string TagOf(int state_dir) {
  struct stat info {};
  fstat(state_dir, &info);
  char tag[40];
  snprintf(tag, sizeof tag, "%lx-%lx", static_cast<unsigned long>(info.st_dev),
           static_cast<unsigned long>(info.st_ino));
  return tag;
}

int Refuse(int daemon, const Failure& failure) {
  SpawnReply reply{};
  reply.op = SpawnOp::kReady;
  reply.value = failure.error == 0 ? EIO : failure.error;
  reply.step = failure.step;
  snprintf(reply.operation, sizeof reply.operation, "%s", failure.operation.c_str());
  snprintf(reply.detail, sizeof reply.detail, "%s", failure.detail.c_str());
  sys::SendMessage(daemon, &reply, sizeof reply);
  return 1;
}

int Main(const std::string& state_path, sys::Fd daemon) {
  const bool privileged = geteuid() == 0;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // cloched ignores it, and that is inherited
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_IGN);  // cloched decides
  umask(022);
  sys::RaiseFileLimit();
  if (!privileged) sys::ReserveWatches();

  HostView host;  // before we leave its mount namespace
  sys::CgroupHost groups = sys::FindCgroups(privileged);

  if (privileged) {
    if (int error = sys::UnshareMountNamespace(); error < 0)
      return Refuse(daemon.get(), {SpawnStep::kNamespaces, "unshare mount namespace", -error, ""});
    if (int error = sys::KeepCapabilitiesAcrossIds(); error < 0)
      return Refuse(daemon.get(), {SpawnStep::kPrivileges, "set securebits", -error, ""});
  } else if (auto done = BecomeOwnRoot(); !done) {
    return Refuse(daemon.get(), done.error());
  }
  if (int error = sys::MakeMountsSlave(); error < 0)
    return Refuse(daemon.get(), {SpawnStep::kMounts, "make mounts slave", -error, ""});
  if (sys::LandlockAbi() < 1)
    return Refuse(daemon.get(), {SpawnStep::kLandlock, "landlock_create_ruleset", ENOSYS, ""});

  sys::Fd state(open(state_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!state.valid())
    return Refuse(daemon.get(), {SpawnStep::kPool, "open state", errno, state_path});
  auto scratch = MakeScratch(state_path);
  if (!scratch) return Refuse(daemon.get(), scratch.error());
  sys::Fd scratch_dir(open(scratch->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto store = Store::Open(state.get(), state_path, scratch_dir.get(), privileged);
  if (!store) return Refuse(daemon.get(), store.error());
  host.Enter(privileged, {state_path + "/pool", *scratch});
  sys::CgroupTree tree;
  std::string failed;
  if (int error = sys::CgroupTree::Open(groups, TagOf(state.get()), tree, failed); error < 0)
    return Refuse(daemon.get(), {SpawnStep::kCgroup, "make cgroup", -error, failed});

  Workshop workshop(*store, tree, *scratch);
  Server server(privileged ? Mode::kSystem : Mode::kRootless, std::move(daemon), std::move(host),
                *store, tree, workshop);
  // In system mode cloched gives its directory away before it starts us, and later drops root
  // itself.
  struct stat daemon_files {};
  if (fstatat(state.get(), "daemon", &daemon_files, AT_SYMLINK_NOFOLLOW) == 0)
    server.SetDaemonUser(daemon_files.st_uid, daemon_files.st_gid);
  int result = server.Run();
  tree.RemoveAll();
  return result;
}

}  // namespace
}  // namespace cloche::spawn

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "cloche-spawn is started by cloched: cloche-spawn STATE-DIRECTORY SOCKET-FD\n");
    return 2;
  }
  cloche::spawn::RememberCommandLine(argc, argv);
  int fd = atoi(argv[2]);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return cloche::spawn::Main(argv[1], cloche::sys::Fd(fd));
}
