#include "policy/cures.h"

#include <fmt/core.h>

#include <cerrno>

#include "base/text.h"
#include "policy/errno_text.h"

namespace cloche {
namespace {

constexpr int kAny = 0;

// The first matching row wins. An empty operation matches every operation of the step.
struct Row {
  SpawnStep step;
  std::string_view operation;
  int error;
  bool (*applies)(const HostFacts&);
  Code code;
  std::string_view sentence;
  std::string_view cure;
};

constexpr auto kAlways = [](const HostFacts&) { return true; };
constexpr auto kAppArmor = [](const HostFacts& f) { return f.apparmor_restricts_userns; };
constexpr auto kDisabled = [](const HostFacts& f) { return f.userns_disabled; };
constexpr auto kContainer = [](const HostFacts& f) { return f.in_container; };
constexpr auto kRootless = [](const HostFacts& f) { return f.mode == Mode::kRootless; };

constexpr std::string_view kOutsideContainer =
    "run Cloche on the machine itself, or give the container the rights: docker run --privileged, "
    "or --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined";

constexpr std::string_view kUsernsCure =
    "sudo make install, and use the installed cloche (a profile lets its cloche-spawn have them), "
    "or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 (for every program), or run the "
    "daemon as root";

constexpr Row kRows[] = {
    {SpawnStep::kPlan, "sandbox runs", kAny, kAlways, Code::kConflict,
     "a sandbox with that id runs already", "cloche show NAME tells its state"},
    {SpawnStep::kPlan, "source is the host's root", kAny, kAlways, Code::kDenied,
     "it is the host's own /, by another name",
     "leave it out, or name the directories that are needed"},
    {SpawnStep::kPlan, "source is a link", kAny, kAlways, Code::kDenied,
     "it is a link, and what it leads to is hidden, or the system's own",
     "name what is needed itself; realpath prints where the link leads"},
    {SpawnStep::kPlan, "base is a link", kAny, kAlways, Code::kInvalid,
     "a symbolic link lies on that path, and could lead to what is hidden",
     "name the real path: realpath PATH"},
    {SpawnStep::kPlan, "", EPERM, kAlways, Code::kDenied,
     "the plan asks for more than its caller may have",
     "ask with the user who may, or ask for less"},
    {SpawnStep::kPlan, "", EACCES, kAlways, Code::kDenied,
     "the caller may not reach that path outside either", "name a path that you can read"},
    {SpawnStep::kPlan, "open source", ELOOP, kAlways, Code::kInvalid,
     "a symbolic link lies on that path, and writes through one could land anywhere",
     "name the real path: realpath PATH"},
    {SpawnStep::kPlan, "open source", ENOTDIR, kAlways, Code::kInvalid,
     "a part of that path is a file, not a directory", "name a directory"},
    {SpawnStep::kPlan, "", ENOENT, kAlways, Code::kNotFound, "that path does not exist",
     "check the spelling"},
    {SpawnStep::kPlan, "", kAny, kAlways, Code::kInternal, "the plan was refused",
     "cloched and cloche-spawn may be of different versions: restart the daemon, and report it if "
     "it stays"},

    {SpawnStep::kPool, "mkfs.btrfs", ENOENT, kAlways, Code::kUnavailable,
     "mkfs.btrfs is not installed, and copies are kept on btrfs", "apt-get install btrfs-progs"},
    {SpawnStep::kPool, "lock pool", EAGAIN, kAlways, Code::kConflict,
     "another daemon uses this state directory",
     "stop that one, or give this one another state directory"},
    {SpawnStep::kPool, "open kept upper", ENOENT, kAlways, Code::kNotFound,
     "the sandbox's files are gone", "remove it: cloche rm NAME"},
    {SpawnStep::kPool, "mark upper", EOPNOTSUPP, kAlways, Code::kUnavailable,
     "the service's data is a mount of its own, and changes kept in memory cannot note that before "
     "Linux 6.6",
     "keep them on disk, without --in-memory, --inodes and (as an ordinary user) --disk; or use a "
     "newer kernel"},
    {SpawnStep::kPool, "look at renamed directories", EXDEV, kAlways, Code::kConflict,
     "its processes rename directories while it is promoted", "stop it first: cloche stop NAME"},
    {SpawnStep::kPool, "a process works in it", EBUSY, kAlways, Code::kConflict,
     "a process inside has a renamed directory as its working directory",
     "leave that directory, or end the process: cloche stop NAME"},
    {SpawnStep::kPool, "cloche-diff failed", kAny, kAlways, Code::kInternal,
     "it ended before its answer was complete, and did not say why",
     "ask again; if it stays, report this"},
    {SpawnStep::kPool, "cloche-diff was killed", kAny, kAlways, Code::kUnavailable,
     "somebody, or the kernel for want of memory, ended it before its answer was complete",
     "ask again, or for less: cloche diff SANDBOX PATH..."},
    {SpawnStep::kPool, "cloche-promote failed", kAny, kAlways, Code::kInternal,
     "it ended before it was done, and did not say why",
     "nothing is half done: cloche promotions says how it stands"},
    {SpawnStep::kPool, "cloche-promote was killed", kAny, kAlways, Code::kUnavailable,
     "somebody, or the kernel for want of memory, ended it before it was done",
     "nothing is half done: cloche promotions takes back what was begun, and says so"},
    {SpawnStep::kPool, "", ENODEV, kAlways, Code::kUnavailable,
     "this kernel has no btrfs, and copies are kept on it", "modprobe btrfs"},
    {SpawnStep::kPool, "loop", kAny, kContainer, Code::kUnavailable,
     "there is no loop device in this container", kOutsideContainer},
    {SpawnStep::kPool, "loop", kAny, kAlways, Code::kUnavailable, "no loop device could be had",
     "modprobe loop"},
    {SpawnStep::kPool, "fill holes", ENOSPC, kAlways, Code::kExhausted,
     "the pool's image has holes, and the disk has no room to fill them: what is written into one "
     "would be lost",
     "free the difference between `du -h --apparent-size` and `du -h` of the image"},
    {SpawnStep::kPool, "", ENOSPC, kAlways, Code::kExhausted,
     "the disk that holds the sandboxes' changes is full",
     "free some space there, or remove sandboxes: cloche ls, cloche rm NAME"},
    {SpawnStep::kPool, "", EDQUOT, kAlways, Code::kExhausted,
     "its disk limit, or your share of the pool (half of it), is used up",
     "remove sandboxes or snapshots of yours: cloche ls, cloche rm NAME, cloche snapshots rm ID"},
    {SpawnStep::kPool, "", EROFS, kAlways, Code::kUnavailable,
     "the file system of the sandboxes' changes has turned read-only",
     "look at dmesg; a full disk does this: free some space and restart the daemon"},
    {SpawnStep::kPool, "", EBUSY, kAlways, Code::kConflict,
     "the sandbox's changes are in use by another start", "wait for it, or cloche stop NAME"},

    {SpawnStep::kCgroup, "", EROFS, kContainer, Code::kUnavailable,
     "the container's cgroup file system is read-only", kOutsideContainer},
    {SpawnStep::kCgroup, "", EACCES, kRootless, Code::kUnavailable,
     "the cgroup is not delegated to this user", kDelegationCure},
    {SpawnStep::kCgroup, "", EBUSY, kAlways, Code::kUnavailable,
     "processes sit in the cgroup that should be divided",
     "let systemd start the daemon, in a cgroup of its own: systemctl enable --now cloched.socket"},
    {SpawnStep::kCgroup, "", ENOSPC, kAlways, Code::kExhausted, "no more cgroups can be made",
     "remove sandboxes: cloche ls, cloche rm NAME"},

    {SpawnStep::kNamespaces, "", EPERM, kAppArmor, Code::kUnavailable,
     "AppArmor keeps ordinary users from user namespaces (as Ubuntu 24.04 does)", kUsernsCure},
    {SpawnStep::kNamespaces, "", EACCES, kAppArmor, Code::kUnavailable,
     "AppArmor keeps ordinary users from user namespaces (as Ubuntu 24.04 does)", kUsernsCure},
    {SpawnStep::kNamespaces, "", EPERM, kDisabled, Code::kUnavailable,
     "user namespaces are switched off for ordinary users",
     "sudo sysctl kernel.unprivileged_userns_clone=1, or run the daemon as root"},
    {SpawnStep::kNamespaces, "", EPERM, kContainer, Code::kUnavailable,
     "this container may not make namespaces", kOutsideContainer},
    {SpawnStep::kNamespaces, "", EPERM, kAlways, Code::kUnavailable,
     "this process may not make namespaces",
     "run the daemon as root; for ordinary users check sysctl kernel.unprivileged_userns_clone and "
     "kernel.apparmor_restrict_unprivileged_userns"},
    {SpawnStep::kNamespaces, "", ENOSPC, kAlways, Code::kExhausted,
     "the machine's limit of namespaces is reached",
     "remove sandboxes, or raise it: sudo sysctl user.max_user_namespaces=15000 (and its sisters "
     "user.max_*_namespaces)"},
    {SpawnStep::kNamespaces, "", EUSERS, kAlways, Code::kUnavailable,
     "user namespaces are nested too deeply", "run Cloche further outside"},
    {SpawnStep::kNamespaces, "", EAGAIN, kAlways, Code::kExhausted,
     "the limit of processes is reached", "end some, or raise ulimit -u"},
    {SpawnStep::kNamespaces, "", ENOSYS, kAlways, Code::kUnavailable,
     "clone3 is missing or filtered",
     "Linux 6.1 is the oldest supported; an outer container may "
     "filter it: run Cloche on the machine itself"},
    {SpawnStep::kNamespaces, "", EINVAL, kAlways, Code::kUnavailable,
     "this kernel lacks a kind of namespace",
     "use a kernel with CONFIG_USER_NS, PID_NS, NET_NS, IPC_NS, UTS_NS and CGROUPS"},

    {SpawnStep::kIdmap, "", EINVAL, kAlways, Code::kUnavailable,
     "that file system cannot be mapped to other user ids",
     "work on ext4, xfs, btrfs or f2fs, or run the daemon as an ordinary user (rootless mode)"},
    {SpawnStep::kIdmap, "", EPERM, kContainer, Code::kUnavailable,
     "this container may not map file systems to other user ids", kOutsideContainer},
    {SpawnStep::kIdmap, "", EPERM, kAlways, Code::kUnavailable,
     "a file system mounted by someone else cannot be mapped to other user ids",
     "run the daemon as the machine's root, or as an ordinary user (rootless mode)"},
    {SpawnStep::kIdmap, "", ENOSYS, kAlways, Code::kUnavailable,
     "this kernel cannot map mounts to other user ids", "use Linux 6.1 or newer"},

    {SpawnStep::kOverlay, "", EINVAL, kContainer, Code::kUnavailable,
     "overlay refuses these layers: in a container the file system is mostly an overlay already",
     "put Cloche's state on a volume of the container (ext4, xfs, btrfs or tmpfs)"},
    {SpawnStep::kOverlay, "", EINVAL, kAlways, Code::kUnavailable,
     "overlay refuses these layers: changes cannot be kept on overlay, NFS, vfat or FUSE",
     "put Cloche's state directory on ext4, xfs, btrfs or tmpfs"},
    {SpawnStep::kOverlay, "", ENODEV, kAlways, Code::kUnavailable, "this kernel has no overlay",
     "modprobe overlay"},
    {SpawnStep::kOverlay, "", EPERM, kRootless, Code::kUnavailable,
     "this kernel keeps ordinary users from overlay",
     "use Linux 6.1 or newer, or run the daemon as "
     "root"},
    {SpawnStep::kOverlay, "", ENOENT, kAlways, Code::kNotFound, "that directory does not exist",
     "check the spelling"},
    {SpawnStep::kOverlay, "", ENOTDIR, kAlways, Code::kInvalid, "only a directory can be copied",
     "name a directory"},
    {SpawnStep::kOverlay, "", EACCES, kAlways, Code::kDenied,
     "the caller may not read that directory outside either", "name a directory that you can read"},
    {SpawnStep::kOverlay, "", ENOSPC, kAlways, Code::kExhausted,
     "the disk that holds the sandboxes' changes is full",
     "free some space there, or remove sandboxes: cloche ls, cloche rm NAME"},
    {SpawnStep::kOverlay, "", EDQUOT, kAlways, Code::kExhausted,
     "the sandbox's disk limit is too small", "give a larger --disk"},
    {SpawnStep::kOverlay, "", EROFS, kAlways, Code::kExhausted,
     "the copy turned read-only: its disk limit is used up", "give a larger --disk"},
    {SpawnStep::kOverlay, "", ELOOP, kAlways, Code::kInvalid,
     "the directory lies inside Cloche's own state", "name another directory"},

    {SpawnStep::kFiles, "", ENOSPC, kAlways, Code::kExhausted,
     "no room to prepare the files that are hidden", "give a larger --disk or --inodes"},
    {SpawnStep::kFiles, "", EDQUOT, kAlways, Code::kExhausted,
     "no room to prepare the files that are hidden", "give a larger --disk"},
    {SpawnStep::kFiles, "", EPERM, kRootless, Code::kUnavailable,
     "whiteouts cannot be made where changes are kept",
     "put Cloche's state directory on ext4, xfs, btrfs or tmpfs"},

    // Ubuntu 24.04 grants the namespace and then none of its powers.
    {SpawnStep::kMounts, "make mounts slave", kAny, kAppArmor, Code::kUnavailable,
     "AppArmor keeps ordinary users from user namespaces (as Ubuntu 24.04 does)", kUsernsCure},
    {SpawnStep::kMounts, "proc", EPERM, kContainer, Code::kUnavailable,
     "a proc of its own is refused, because the container masks parts of /proc", kOutsideContainer},
    {SpawnStep::kMounts, "proc", EPERM, kAlways, Code::kUnavailable,
     "a proc of its own is refused, because something is mounted over parts of /proc",
     "unmount what findmnt -R /proc shows below it"},
    {SpawnStep::kMounts, "make mount point", EROFS, kAlways, Code::kNotFound,
     "that directory does not exist, and the place is read-only inside", "check the spelling"},
    {SpawnStep::kMounts, "follow", kAny, kRootless, Code::kUnavailable,
     "it was mounted or unmounted after your daemon started, and this machine does not pass such "
     "changes on (findmnt -o TARGET,PROPAGATION: private)",
     "end the daemon, the next command starts a new one: cloche status shows its pid, kill PID; or "
     "sudo mount --make-rshared / before it starts"},
    {SpawnStep::kMounts, "follow", kAny, kAlways, Code::kUnavailable,
     "it was mounted or unmounted after the daemon started, and could not be taken over",
     "restart the daemon: cloche status shows its pid, kill PID; the next command starts it"},
    {SpawnStep::kMounts, "", ENOENT, kAlways, Code::kNotFound,
     "that path does not exist (inside, or on the host)",
     "check the spelling; with a dir: base it "
     "must exist in the base too"},
    {SpawnStep::kMounts, "", ENOTDIR, kAlways, Code::kInvalid,
     "a directory cannot be put over a file",
     "rootless, only directories outside of home and "
     "project can be hidden"},
    {SpawnStep::kMounts, "", EACCES, kAlways, Code::kDenied,
     "the caller may not reach that path outside either", "name a path that you can read"},
    {SpawnStep::kMounts, "", EINVAL, kRootless, Code::kUnavailable,
     "an ordinary user cannot copy across mounts",
     "see `findmnt` for what is mounted below it and unmount that, or run the daemon as root"},
    {SpawnStep::kMounts, "", EINVAL, kAlways, Code::kUnavailable,
     "that path lies on a file system that cannot be mapped to other user ids",
     "name a path on ext4, xfs, btrfs or f2fs"},
    {SpawnStep::kMounts, "", ENOSPC, kAlways, Code::kExhausted, "the limit of mounts is reached",
     "sudo sysctl fs.mount-max=200000"},

    {SpawnStep::kPivot, "", kAny, kAlways, Code::kUnavailable,
     "the sandbox's root could not be made the root",
     "run Cloche outside of chroot and containers"},
    {SpawnStep::kNetwork, "load nf_tables rules", kAny, kAlways, Code::kUnavailable,
     "this kernel cannot lead a sandbox's connections to us",
     "use a kernel with CONFIG_NF_TABLES_INET, CONFIG_NFT_REDIR and CONFIG_NFT_REJECT; or load "
     "nf_tables, nft_redir, nft_reject_inet and nft_chain_nat"},
    {SpawnStep::kNetwork, "too many at once", EAGAIN, kAlways, Code::kExhausted,
     "too many connections are being opened", "try again in a moment"},
    {SpawnStep::kNetwork, "", kAny, kAlways, Code::kUnavailable,
     "the sandbox's loopback could not be set up", "use a kernel with CONFIG_NET_NS"},
    {SpawnStep::kAppArmor, "", ENOENT, kAlways, Code::kUnavailable,
     "the AppArmor profile cloche-sandbox was loaded and is gone",
     "load it: sudo apparmor_parser -r /etc/apparmor.d/cloche-sandbox; or restart the daemon, and "
     "go without"},
    {SpawnStep::kAppArmor, "", kAny, kAlways, Code::kUnavailable,
     "the AppArmor profile cloche-sandbox is not in force, so nothing was started",
     "load it as it was installed: sudo apparmor_parser -r /etc/apparmor.d/cloche-sandbox"},
    {SpawnStep::kLandlock, "", ENOSYS, kAlways, Code::kUnavailable, "this kernel has no Landlock",
     "use a kernel with CONFIG_SECURITY_LANDLOCK"},
    {SpawnStep::kLandlock, "", EOPNOTSUPP, kAlways, Code::kUnavailable,
     "Landlock is built in but not switched on",
     "add landlock to the kernel's command line: lsm=landlock,... and restart"},
    {SpawnStep::kSeccomp, "", EBUSY, kAlways, Code::kUnavailable,
     "another seccomp listener is installed already", "run Cloche outside of that sandbox"},
    {SpawnStep::kSeccomp, "", kAny, kAlways, Code::kUnavailable,
     "this kernel or container does not allow the seccomp filter",
     "use a kernel with CONFIG_SECCOMP_FILTER, on the machine itself"},
    {SpawnStep::kVerify, "", kAny, kAlways, Code::kUnavailable,
     "a layer was installed and is not in force, so nothing was started",
     "run cloche doctor, and report this"},

    {SpawnStep::kNone, "", ENOMEM, kAlways, Code::kExhausted, "the machine is out of memory",
     "remove sandboxes: cloche ls, cloche rm NAME"},
    {SpawnStep::kNone, "", EMFILE, kAlways, Code::kExhausted, "too many files are open",
     "remove sandboxes, or raise the daemon's LimitNOFILE"},
    {SpawnStep::kNone, "", ENFILE, kAlways, Code::kExhausted, "too many files are open",
     "remove sandboxes, or raise sysctl fs.file-max"},
};

const char* StageName(SpawnStep step) {
  switch (step) {
    case SpawnStep::kNone:
      return "start sandbox";
    case SpawnStep::kPlan:
      return "check plan";
    case SpawnStep::kPool:
      return "prepare storage";
    case SpawnStep::kCgroup:
      return "make cgroup";
    case SpawnStep::kNamespaces:
      return "make namespaces";
    case SpawnStep::kIdmap:
      return "map file owners";
    case SpawnStep::kOverlay:
      return "make copy";
    case SpawnStep::kFiles:
      return "hide files";
    case SpawnStep::kMounts:
      return "mount";
    case SpawnStep::kPivot:
      return "change root";
    case SpawnStep::kNetwork:
      return "set up network";
    case SpawnStep::kAppArmor:
      return "set up AppArmor";
    case SpawnStep::kPrivileges:
      return "drop privileges";
    case SpawnStep::kLandlock:
      return "set up Landlock";
    case SpawnStep::kSeccomp:
      return "set up seccomp";
    case SpawnStep::kVerify:
      return "verify sandbox";
  }
  return "start sandbox";
}

// kNone rows hold for every step.
const Row* FindRow(SpawnStep step, std::string_view operation, int error, const HostFacts& facts) {
  for (const SpawnStep wanted : {step, SpawnStep::kNone})
    for (const Row& row : kRows)
      if (row.step == wanted &&
          (row.operation.empty() || operation.find(row.operation) != operation.npos) &&
          (row.error == kAny || row.error == error) && row.applies(facts))
        return &row;
  return nullptr;
}

}  // namespace

Error ExplainLaunchFailure(SpawnStep step, std::string_view operation, int errno_value,
                           std::string_view detail, const HostFacts& facts) {
  const Row* row = FindRow(step, operation, errno_value, facts);
  std::string what = StageName(step);
  if (!detail.empty()) what += ' ' + EscapeForTerminal(detail);
  const std::string evidence =
      fmt::format("{}: {}", EscapeForTerminal(operation),
                  !ErrnoName(errno_value).empty() ? std::string(ErrnoName(errno_value))
                                                  : fmt::format("error {}", errno_value));
  if (!row)
    return {Code::kInternal, fmt::format("{}: {} ({})", what, ErrnoMeaning(errno_value), evidence),
            "run cloche doctor; if it finds nothing, report this"};
  return {row->code, fmt::format("{}: {} ({})", what, row->sentence, evidence),
          std::string(row->cure)};
}

}  // namespace cloche
