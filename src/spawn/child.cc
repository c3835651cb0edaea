// Between clone and the sealed init: raw system calls, no allocation, no locks, no return.
// tools/lint/child_symbols.txt lists everything this file may call.
#include "spawn/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string_view>

#include "sys/apparmor.h"
#include "sys/landlock.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/seccomp.h"

namespace cloche::spawn {
namespace {

constexpr int kControl = 3;  // all others are closed

// The report socket, for Die: set once, before anything can fail.
int report_socket = -1;

// The arguments of the host's cloche-spawn, which name its state directory.
char* command_line = nullptr;
size_t command_line_size = 0;

void HideCommandLine() {
  constexpr char kName[] = "cloche-init";
  if (command_line_size < sizeof kName) return;
  memset(command_line, 0, command_line_size);
  memcpy(command_line, kName, sizeof kName);
}

[[noreturn]] void Die(SpawnStep step, const char* operation, int error, const char* detail = "") {
  ChildReport report{};
  report.step = step;
  report.error = error < 0 ? -error : error;
  strncpy(report.operation, operation, sizeof report.operation - 1);
  strncpy(report.detail, detail, sizeof report.detail - 1);
  sys::SendMessage(report_socket, &report, sizeof report);
  _exit(1);
}

int Must(int value, SpawnStep step, const char* operation, const char* detail = "") {
  if (value < 0) Die(step, operation, value, detail);
  return value;
}

int MustCall(long value, SpawnStep step, const char* operation, const char* detail = "") {
  if (value < 0) Die(step, operation, errno, detail);
  return static_cast<int>(value);
}

// Creates the missing directories of `path` and, at its end, a directory or an empty file. Only our
// own tmpfs roots and bases without /proc or /dev lack a target.
void MakeTarget(int root, const char* path, bool directory) {
  char part[256];
  int at = MustCall(dup(root), SpawnStep::kMounts, "dup");
  while (*path == '/') ++path;
  while (*path != '\0') {
    size_t size = strcspn(path, "/");
    if (size >= sizeof part) Die(SpawnStep::kMounts, "make mount point", ENAMETOOLONG, path);
    memcpy(part, path, size);
    part[size] = '\0';
    path += size;
    while (*path == '/') ++path;
    if (*path == '\0' && !directory) {
      int file = openat(at, part, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
      if (file < 0) Die(SpawnStep::kMounts, "make mount point", errno, part);
      close(file);
      break;
    }
    if (mkdirat(at, part, 0755) < 0 && errno != EEXIST)
      Die(SpawnStep::kMounts, "make mount point", errno, part);
    int next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) Die(SpawnStep::kMounts, "open mount point", errno, part);
    close(at);
    at = next;
  }
  close(at);
}

// The host's null device, verified: what masks a file must not be replaceable.
int CloneNull() {
  int tree = Must(sys::OpenTree(AT_FDCWD, "/dev/null", false), SpawnStep::kMounts, "open_tree",
                  "/dev/null");
  struct stat info;
  if (fstat(tree, &info) < 0 || !S_ISCHR(info.st_mode) || info.st_rdev != makedev(1, 3))
    Die(SpawnStep::kMounts, "check /dev/null", ENODEV, "/dev/null");
  Must(sys::SetMountFlags(tree, sys::kMountReadOnly | sys::kMountNoExec | sys::kMountNoSuid, false),
       SpawnStep::kMounts, "make read-only", "/dev/null");
  return tree;
}

// The promoter never uses a symlink as its own directory, so a symlink is not covered: anybody with
// --rw there can make one, and its target would be covered for everybody.
bool IsPlanted(int root, const char* path) {
  constexpr std::string_view kSideStore = "/.cloche-promotions";
  if (!std::string_view(path).ends_with(kSideStore)) return false;
  const int found = sys::OpenBeneath(root, path, O_PATH | O_NOFOLLOW, true);
  struct stat info;
  const bool link =
      found == -ELOOP || (found >= 0 && fstat(found, &info) == 0 && S_ISLNK(info.st_mode));
  if (found >= 0) close(found);
  return link;
}

// Resolves a path inside, so that a symlink in the base cannot lead out. For the kernel's own
// filesystems, no symlink is followed at all.
int OpenTarget(int root, const ChildMount& mount) {
  const char* path = mount.target;
  while (*path == '/') ++path;
  bool follow = mount.kind != MountKind::kProc && mount.kind != MountKind::kDev &&
                mount.kind != MountKind::kSys;
  int flags = O_PATH | (mount.directory ? O_DIRECTORY : 0);
  if (mount.optional && !mount.from_parent && IsPlanted(root, path)) return -1;
  int target = sys::OpenBeneath(root, path, flags, follow);
  // A cover: skipped if nothing is there to hide or nobody inside could reach it; a file is covered
  // by null.
  if ((target == -ENOENT || target == -EACCES) && mount.optional && !mount.from_parent) return -1;
  if (target == -ENOTDIR && mount.kind == MountKind::kSys && mount.optional) return -1;
  if (target == -ENOTDIR && mount.optional && !mount.from_parent) {
    int file = sys::OpenBeneath(root, path, O_PATH, follow);
    if (file == -ENOTDIR) return -1;  // its parent is a file
    Must(file, SpawnStep::kMounts, "open mount point", mount.target);
    int null = CloneNull();
    Must(sys::AttachMountAt(null, file), SpawnStep::kMounts, "mask", mount.target);
    close(null);
    close(file);
    return -1;
  }
  if (target == -ENOENT) {
    MakeTarget(root, path, mount.directory);
    target = sys::OpenBeneath(root, path, flags, follow);
  }
  return Must(target, SpawnStep::kMounts, "open mount point", mount.target);
}

int NewTmpfs(uint64_t size, uint32_t mode, uint64_t attributes) {
  sys::FsContext tmpfs("tmpfs");
  tmpfs.String("source", "cloche").Number("mode", mode, 8);
  if (size != 0) tmpfs.Number("size", size);
  return Must(tmpfs.Mount(attributes), SpawnStep::kMounts, "mount tmpfs", tmpfs.failed());
}

void MountProc(int target) {
  sys::FsContext proc("proc");
  proc.String("source", "proc");
  int mount = Must(proc.Mount(sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoExec),
                   SpawnStep::kMounts, "mount proc", proc.failed());
  Must(sys::AttachMountAt(mount, target), SpawnStep::kMounts, "attach", "/proc");

  static constexpr const char* kReadOnly[] = {"sys", "irq", "bus", "fs"};
  for (const char* name : kReadOnly) {
    int tree = sys::OpenTree(mount, name, true);
    if (tree == -ENOENT) continue;
    Must(tree, SpawnStep::kMounts, "open_tree", name);
    Must(sys::SetMountFlags(tree, sys::kMountReadOnly, true), SpawnStep::kMounts, "make read-only",
         name);
    Must(sys::AttachMount(tree, mount, name), SpawnStep::kMounts, "attach", name);
    close(tree);
  }
  // Files in the host's /proc that reveal or control the kernel and its other users.
  static constexpr const char* kMasked[] = {
      "kcore",       "keys",        "key-users",  "sysrq-trigger", "timer_list",
      "timer_stats", "sched_debug", "kallsyms",   "kmsg",          "kpagecount",
      "kpageflags",  "kpagecgroup", "interrupts", "latency_stats", "slabinfo",
      "vmallocinfo", "acpi",        "asound",     "scsi",          "dynamic_debug"};
  for (const char* name : kMasked) {
    struct stat info;
    if (fstatat(mount, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno == ENOENT) continue;
      Die(SpawnStep::kMounts, "stat", errno, name);
    }
    // Owned by the host's root, which does not exist inside, so it is closed to everybody anyway.
    if ((info.st_mode & 0007) == 0 && S_ISREG(info.st_mode)) continue;
    int cover = S_ISDIR(info.st_mode)
                    ? NewTmpfs(4096, 0555, sys::kMountReadOnly | sys::kMountNoExec)
                    : CloneNull();
    Must(sys::AttachMount(cover, mount, name), SpawnStep::kMounts, "mask", name);
    close(cover);
  }
  close(mount);
}

// Returns the root of the sandbox's own devpts: init opens its ptmx there, where nobody inside can
// replace it.
int MountDev(int target, bool tty_group) {
  int dev = NewTmpfs(1 << 20, 0755, sys::kMountNoSuid | sys::kMountNoExec);
  Must(sys::AttachMountAt(dev, target), SpawnStep::kMounts, "attach", "/dev");
  static constexpr const char* kNodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                           "/dev/random", "/dev/urandom", "/dev/tty"};
  for (const char* path : kNodes) {
    const char* name = path + 5;
    int file = openat(dev, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0) Die(SpawnStep::kMounts, "make device", errno, path);
    close(file);
    int tree = Must(sys::OpenTree(AT_FDCWD, path, false), SpawnStep::kMounts, "open_tree", path);
    Must(sys::SetMountFlags(tree, sys::kMountNoSuid | sys::kMountNoExec, false), SpawnStep::kMounts,
         "mount_setattr", path);
    Must(sys::AttachMount(tree, dev, name), SpawnStep::kMounts, "attach", path);
    close(tree);
  }
  static constexpr const char* kLinks[][2] = {{"/proc/self/fd", "fd"},
                                              {"/proc/self/fd/0", "stdin"},
                                              {"/proc/self/fd/1", "stdout"},
                                              {"/proc/self/fd/2", "stderr"},
                                              {"pts/ptmx", "ptmx"}};
  for (const auto& link : kLinks)
    MustCall(symlinkat(link[0], dev, link[1]), SpawnStep::kMounts, "symlink", link[1]);

  MustCall(mkdirat(dev, "shm", 0755), SpawnStep::kMounts, "mkdir", "/dev/shm");
  int shm = NewTmpfs(0, 01777, sys::kMountNoSuid | sys::kMountNoDev);
  Must(sys::AttachMount(shm, dev, "shm"), SpawnStep::kMounts, "attach", "/dev/shm");
  close(shm);

  MustCall(mkdirat(dev, "mqueue", 0755), SpawnStep::kMounts, "mkdir", "/dev/mqueue");
  sys::FsContext mqueue("mqueue");
  int queue = Must(mqueue.Mount(sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoExec),
                   SpawnStep::kMounts, "mount mqueue", mqueue.failed());
  Must(sys::AttachMount(queue, dev, "mqueue"), SpawnStep::kMounts, "attach", "/dev/mqueue");
  close(queue);

  // For the certificates of src/spawn/install_ca.cc.
  MustCall(mkdirat(dev, "cloche", 0755), SpawnStep::kMounts, "mkdir", "/dev/cloche");
  MustCall(mkdirat(dev, "pts", 0755), SpawnStep::kMounts, "mkdir", "/dev/pts");
  sys::FsContext devpts("devpts");
  devpts.String("source", "devpts")
      .Flag("newinstance")
      .Number("ptmxmode", 0666, 8)
      .Number("mode", 0620, 8)
      .Number("max", 256);  // the machine has 4096, including reserved ones
  if (tty_group) devpts.Number("gid", 5);
  int pts = Must(devpts.Mount(sys::kMountNoSuid | sys::kMountNoExec), SpawnStep::kMounts,
                 "mount devpts", devpts.failed());
  Must(sys::AttachMount(pts, dev, "pts"), SpawnStep::kMounts, "attach", "/dev/pts");
  close(dev);
  return pts;
}

int MountSys(int target) {
  int sys = NewTmpfs(1 << 16, 0555, sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoExec);
  Must(sys::AttachMountAt(sys, target), SpawnStep::kMounts, "attach", "/sys");
  return sys;
}

void AddToSys(int sys, const ChildMount& part, int mount) {
  const int flags = O_PATH | (part.directory ? O_DIRECTORY : 0);
  int target = sys::OpenBeneath(sys, part.target, flags, false);
  if (target == -ENOENT) {
    MakeTarget(sys, part.target, part.directory);
    target = sys::OpenBeneath(sys, part.target, flags, false);
  }
  Must(target, SpawnStep::kMounts, "open mount point", part.target);
  Must(sys::AttachMountAt(mount, target), SpawnStep::kMounts, "attach", part.target);
  close(target);
}

void Limit(__rlimit_resource_t resource, rlim_t value, const char* name) {
  rlimit limit{};
  MustCall(getrlimit(resource, &limit), SpawnStep::kPrivileges, "getrlimit", name);
  limit.rlim_max = limit.rlim_max < value ? limit.rlim_max : value;
  limit.rlim_cur = limit.rlim_max;
  MustCall(setrlimit(resource, &limit), SpawnStep::kPrivileges, "setrlimit", name);
}

// Rootless, all sandboxes share half of the user's inotify instances (128 by default): each gets at
// most half of that. In system mode the namespace has its own owner.
void LimitShareOfUser() {
  int file = open("/proc/sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return;
  MustCall(file, SpawnStep::kNamespaces, "open", "max_inotify_instances");
  MustCall(write(file, "32", 2), SpawnStep::kNamespaces, "write", "max_inotify_instances");
  close(file);
}

int BuildFileSystem(const ChildPlan& plan, const int* fds) {
  int pts = -1, sys = -1;
  size_t next_fd = 0;
  auto take = [&](const ChildMount& mount) {
    if (mount.from_parent) return fds[next_fd++];
    uint64_t attributes = sys::kMountNoSuid | sys::kMountNoDev;
    if (mount.read_only) attributes |= sys::kMountReadOnly;
    return NewTmpfs(mount.size_bytes, mount.mode, attributes);
  };
  // The root is attached on top of the old one, populated through its fd, and becomes "/" by
  // pivot_root.
  int root = take(plan.mounts[0]);
  Must(sys::AttachMount(root, AT_FDCWD, "/"), SpawnStep::kMounts, "attach", "/");
  for (size_t i = 1; i < plan.mount_count; ++i) {
    const ChildMount& mount = plan.mounts[i];
    if (mount.kind == MountKind::kSys && mount.from_parent) {
      int part = take(mount);
      if (sys >= 0) AddToSys(sys, mount, part);
      close(part);
      continue;
    }
    int target = OpenTarget(root, mount);
    if (target < 0) continue;
    switch (mount.kind) {
      case MountKind::kSys:
        sys = MountSys(target);
        break;
      case MountKind::kProc:
        MountProc(target);
        break;
      case MountKind::kDev:
        pts = MountDev(target, plan.tty_group);
        break;
      case MountKind::kOverlay:
      case MountKind::kBind:
      case MountKind::kTmpfs: {
        int fd = take(mount);
        Must(sys::AttachMountAt(fd, target), SpawnStep::kMounts, "attach", mount.target);
        close(fd);
        break;
      }
    }
    close(target);
  }
  if (pts < 0) Die(SpawnStep::kPlan, "plan without /dev", EINVAL);
  if (sys >= 0) {
    Must(sys::SetMountFlags(sys, sys::kMountReadOnly, false), SpawnStep::kMounts, "make read-only",
         "/sys");
    close(sys);
  }

  struct stat expected, now;
  if (fstat(root, &expected) < 0) Die(SpawnStep::kPivot, "stat root", errno);
  Must(sys::PivotInto(root), SpawnStep::kPivot, "pivot_root");
  if (stat("/", &now) < 0 || now.st_dev != expected.st_dev || now.st_ino != expected.st_ino)
    Die(SpawnStep::kVerify, "root directory", EXDEV);
  close(root);
  return pts;
}

void DropPrivileges(const ChildPlan& plan) {
  if (plan.set_groups)
    MustCall(syscall(SYS_setgroups, plan.group_count, plan.groups), SpawnStep::kPrivileges,
             "setgroups");
  Limit(RLIMIT_CORE, 0, "core");
  Limit(RLIMIT_MEMLOCK, 8 << 20, "memlock");
  Limit(RLIMIT_MSGQUEUE, 1 << 20, "msgqueue");
  Limit(RLIMIT_RTPRIO, 0,
        "rtprio");  // sched_setattr takes its policy by pointer: no filter sees it
  Limit(RLIMIT_NICE, 0, "nice");
  Limit(RLIMIT_SIGPENDING, 8192, "sigpending");
  Must(sys::SetNoNewPrivileges(), SpawnStep::kPrivileges, "no_new_privs");
  Must(sys::DropBoundingExcept(plan.capabilities), SpawnStep::kPrivileges, "drop bounding set");
  if (plan.become_mapped_root) {
    MustCall(syscall(SYS_setresgid, plan.gid, plan.gid, plan.gid), SpawnStep::kPrivileges,
             "setgid");
    MustCall(syscall(SYS_setresuid, plan.uid, plan.uid, plan.uid), SpawnStep::kPrivileges,
             "setuid");
  }
  Must(sys::SetCapabilities(plan.capabilities), SpawnStep::kPrivileges, "capset");
  if (getuid() != plan.uid || geteuid() != plan.uid || getgid() != plan.gid)
    Die(SpawnStep::kVerify, "identity", EPERM);
  if (!sys::HoldsExactly(plan.capabilities, plan.capabilities))
    Die(SpawnStep::kVerify, "capabilities", EPERM);
}

}  // namespace

void RememberCommandLine(int argc, char** argv) {
  command_line = argv[0];
  command_line_size = static_cast<size_t>(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
}

void RunChild(const ChildPlan& plan) {
  HideCommandLine();
  report_socket = plan.control;
  // Only the control socket survives; it moves to a fixed number above stdio.
  if (plan.control != kControl) MustCall(dup2(plan.control, kControl), SpawnStep::kMounts, "dup2");
  report_socket = kControl;
  Must(sys::CloseFrom(kControl + 1), SpawnStep::kMounts, "close_range");

  char go = 0;
  int fds[sys::kMaxMessageFds];
  int fd_count = 0;
  long got = sys::ReceiveMessage(kControl, &go, 1, fds, fd_count);
  if (got != 1) _exit(0);  // the parent gave up and knows why
  if (static_cast<size_t>(fd_count) != plan.fd_count + plan.procs_count)
    Die(SpawnStep::kMounts, "receive mounts", EBADMSG);
  for (size_t i = plan.fd_count; i < static_cast<size_t>(fd_count); ++i) {
    MustCall(write(fds[i], "0", 1), SpawnStep::kCgroup, "enter cgroup");
    close(fds[i]);
  }

  MustCall(syscall(SYS_sched_setaffinity, 0, plan.cpu_bytes, plan.cpus), SpawnStep::kCgroup,
           "sched_setaffinity");
  if (plan.become_mapped_root) {
    MustCall(syscall(SYS_setresgid, 0, 0, 0), SpawnStep::kNamespaces, "setgid");
    MustCall(syscall(SYS_setresuid, 0, 0, 0), SpawnStep::kNamespaces, "setuid");
  }
  Must(sys::UnshareCgroupNamespace(), SpawnStep::kNamespaces, "unshare cgroup namespace");
  Must(sys::MakeMountsPrivate(), SpawnStep::kMounts, "make mounts private");
  if (!plan.become_mapped_root) LimitShareOfUser();
  umask(0);
  int pts = BuildFileSystem(plan, fds);
  umask(022);

  Must(sys::BringLoopbackUp(), SpawnStep::kNetwork, "bring lo up");
  MustCall(sethostname(plan.hostname, strlen(plan.hostname)), SpawnStep::kNamespaces,
           "sethostname");

  for (int signal = 1; signal < 65; ++signal) ::signal(signal, SIG_DFL);
  // After the mounts, which the profile forbids, and before no_new_privs, which forbids the change.
  if (plan.apparmor) Must(sys::EnterAppArmor(), SpawnStep::kAppArmor, "enter profile");
  DropPrivileges(plan);
  sys::LandlockFailure refused = sys::EnterLandlock(sys::DeviceLandlockDomain(plan.landlock_abi));
  if (refused.operation) Die(SpawnStep::kLandlock, refused.operation, refused.error, refused.path);
  // Non-dumpable: no process inside may ptrace pid 1 or open its /proc/1/{exe,fd,mem}. After the
  // change of credentials, which would reset both.
  Must(sys::SetDumpable(false), SpawnStep::kPrivileges, "PR_SET_DUMPABLE");
  Must(sys::DieWithParent(), SpawnStep::kPrivileges, "PR_SET_PDEATHSIG");
  int listener = Must(sys::InstallSeccomp(*plan.filter), SpawnStep::kSeccomp, "seccomp");
  if (!sys::SeccompInForce()) Die(SpawnStep::kVerify, "seccomp", EPERM);
  if (!sys::NoNewPrivilegesInForce()) Die(SpawnStep::kVerify, "no_new_privs", EPERM);

  ChildReport report{};
  int handed[] = {listener};
  if (sys::SendMessage(kControl, &report, sizeof report, handed) < 0) _exit(1);
  close(listener);
  RunInit(kControl, pts);
}

}  // namespace cloche::spawn
