#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "sys/kernel_abi.h"

namespace cloche::sys {
namespace {

int Checked(long value) { return value < 0 ? -errno : static_cast<int>(value); }

constexpr int kLastCapability = 40;

}  // namespace

bool HasTimeNamespaces() {
  static const bool has = access("/proc/self/ns/time", F_OK) == 0;
  return has;
}

long CloneSandbox(int own_cgroup, int& pidfd) {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                    CLONE_NEWUTS | CLONE_PIDFD;
  if (HasTimeNamespaces()) arguments.flags |= CLONE_NEWTIME;
  if (own_cgroup >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(own_cgroup);
  }
  arguments.exit_signal = SIGCHLD;
  arguments.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  return pid < 0 ? -errno : pid;
}

int UnshareCgroupNamespace() { return Checked(syscall(SYS_unshare, CLONE_NEWCGROUP)); }
int EnterOwnUserAndMountNamespace() {
  return Checked(syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS));
}
int EnterMountsOf(int process) { return setns(process, CLONE_NEWNS) < 0 ? -errno : 0; }

int UnshareMountNamespace() { return Checked(syscall(SYS_unshare, CLONE_NEWNS)); }

int KeepCapabilitiesAcrossIds() {
  return Checked(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0));
}

int SetEffectiveUid(uid_t uid) { return Checked(syscall(SYS_setresuid, -1, uid, -1)); }

// Both calls return the old id whether or not they worked; an invalid id queries it.
int SetFsIds(uid_t uid, gid_t gid) {
  syscall(SYS_setfsgid, gid);
  syscall(SYS_setfsuid, uid);
  return syscall(SYS_setfsgid, -1) == gid && syscall(SYS_setfsuid, -1) == uid ? 0 : -EPERM;
}

namespace {

int SetEffective(bool with_dac) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) < 0) return -errno;
  for (__user_cap_data_struct& half : data) half.effective = half.permitted;
  if (!with_dac) data[0].effective &= ~((1u << CAP_DAC_OVERRIDE) | (1u << CAP_DAC_READ_SEARCH));
  return Checked(syscall(SYS_capset, &header, data));
}

}  // namespace

int SeeAs(uid_t uid, gid_t gid, std::span<const uint32_t> groups) {
  if (setgroups(groups.size(), groups.data()) < 0) return -errno;
  int error = SetFsIds(uid, gid);
  if (error == 0) error = SetEffective(false);
  if (error < 0) SeeAsOurselves();
  return error;
}

void SeeAsOurselves() {
  if (SetEffective(true) < 0 || setgroups(0, nullptr) < 0 || SetFsIds(0, 0) < 0) abort();
}

int OpenPidfd(pid_t pid) { return Checked(syscall(SYS_pidfd_open, pid, 0)); }

int PidfdSignal(int pidfd, int signal) {
  return Checked(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

int OpenMountNamespace(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/mnt";
  return Checked(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

namespace {
uint64_t usual_files = 0;
}  // namespace

uint64_t UsualFileLimit() {
  if (usual_files == 0) RaiseFileLimit();
  return usual_files;
}

uint64_t RaiseFileLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  if (usual_files == 0) usual_files = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur;
}

int CloseFrom(unsigned first) { return Checked(syscall(SYS_close_range, first, ~0u, 0)); }

namespace {

int OpenHow(int dir, const char* path, int flags, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolve;
  return Checked(syscall(SYS_openat2, dir, path, &how, sizeof how));
}

// The kernel takes no path of PATH_MAX bytes or more at once.
int OpenInPieces(int dir, const char* path, int flags, uint64_t resolve) {
  Fd above;
  while (strlen(path) >= PATH_MAX) {
    const char* end = static_cast<const char*>(memrchr(path, '/', PATH_MAX - 1));
    if (end == nullptr || end == path) return -ENAMETOOLONG;
    char piece[PATH_MAX];
    const auto size = static_cast<size_t>(end - path);
    memcpy(piece, path, size);
    piece[size] = '\0';
    Fd next(OpenHow(above.valid() ? above.get() : dir, piece, O_PATH | O_DIRECTORY, resolve));
    if (!next.valid()) return next.get();
    above = std::move(next);
    path = end + 1;
  }
  return OpenHow(above.valid() ? above.get() : dir, path, flags, resolve);
}

}  // namespace

int OpenBeneath(int dir, const char* path, int flags, bool follow_inside) {
  // A link may lead up again, so a path with links must be resolved in one piece.
  if (follow_inside) return OpenHow(dir, path, flags, RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT);
  return OpenInPieces(dir, path, flags,
                      RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

int OpenOnMount(int dir, const char* path, int flags) {
  return OpenInPieces(
      dir, path, flags,
      RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_XDEV);
}

int OpenWithoutSymlinks(const char* path, int flags) {
  return OpenHow(AT_FDCWD, path, flags, RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
}

bool IsMountRoot(int fd) { return IsMountRootAt(fd, ""); }

uint64_t MountIdOf(int fd) {
  struct statx info {};
  if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &info) < 0) return 0;
  return (info.stx_mask & STATX_MNT_ID) != 0 ? info.stx_mnt_id : 0;
}

bool IsMountRootAt(int dir, const char* name) {
  struct statx info {};
  return statx(dir, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE,
               &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

namespace {
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
}

int SealedMemfd(const char* name, const void* data, size_t size) {
  Fd memory(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return -errno;
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = write(memory.get(), at, size);
    if (written < 0) return -errno;
    at += written;
    size -= static_cast<size_t>(written);
  }
  if (lseek(memory.get(), 0, SEEK_SET) < 0) return -errno;  // for those who read(2)
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) < 0) return -errno;
  return memory.Release();
}

int ReadSealed(int memfd, std::string& content, size_t most) {
  struct stat info;
  if ((fcntl(memfd, F_GET_SEALS) & kSeals) != kSeals || fstat(memfd, &info) < 0 ||
      info.st_size > static_cast<off_t>(most))
    return -EINVAL;
  content.resize(static_cast<size_t>(info.st_size));
  const ssize_t size = pread(memfd, content.data(), content.size(), 0);
  return size == info.st_size ? 0 : -EIO;
}

namespace {

uint64_t Bit(int capability) { return uint64_t{1} << capability; }

bool Permits(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return syscall(SYS_capget, &header, data) == 0 && capability < 32 &&
         (data[0].permitted & Bit(capability)) != 0;
}

int BecomeCaller(const PeerIdentity& who, bool privileged, uint64_t keep) {
  if (int error = DropBoundingExcept(keep); error < 0) return error;
  if (privileged &&
      (setgroups(who.group_count, who.groups) < 0 || setresgid(who.gid, who.gid, who.gid) < 0 ||
       setresuid(who.uid, who.uid, who.uid) < 0))
    return -errno;
  if (int error = SetCapabilities(keep); error < 0) return error;
  if (keep != 0) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    data[0].effective = data[0].permitted = data[0].inheritable = static_cast<uint32_t>(keep);
    if (syscall(SYS_capset, &header, data) < 0) return -errno;
    for (int capability = 0; capability < 32; ++capability)
      if ((keep & Bit(capability)) != 0 &&
          prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) < 0)
        return -errno;
  }
  if (getuid() != who.uid || geteuid() != who.uid) return -EPERM;
  return SetNoNewPrivileges();
}

}  // namespace

int BecomePowerless(uid_t uid, gid_t gid, bool privileged) {
  PeerIdentity who;
  who.uid = uid;
  who.gid = gid;
  return BecomeCaller(who, privileged, 0);
}

int BecomeReader(const PeerIdentity& who, bool privileged) {
  return BecomeCaller(who, privileged, !privileged || who.uid == 0 ? Bit(CAP_DAC_READ_SEARCH) : 0);
}

int BecomeWriter(const PeerIdentity& who, bool privileged) {
  uint64_t keep = 0;
  if (!privileged) keep = Bit(CAP_DAC_READ_SEARCH);
  if (privileged && who.uid == 0)
    keep = Bit(CAP_CHOWN) | Bit(CAP_DAC_OVERRIDE) | Bit(CAP_DAC_READ_SEARCH) | Bit(CAP_FOWNER) |
           Bit(CAP_FSETID);
  // For leases on other users' files; a container's root may lack it.
  if (privileged && who.uid == 0 && Permits(CAP_LEASE)) keep |= Bit(CAP_LEASE);
  return BecomeCaller(who, privileged, keep);
}

int DropBoundingExcept(uint64_t keep) {
  for (int capability = 0; capability <= 63; ++capability) {
    if ((keep >> capability & 1) != 0) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) {
      if (errno == EINVAL && capability > kLastCapability) break;  // beyond what the kernel knows
      return -errno;
    }
  }
  return 0;
}

int SetCapabilities(uint64_t mask) {
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) return -errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  data[0].effective = data[0].permitted = static_cast<uint32_t>(mask);
  data[1].effective = data[1].permitted = static_cast<uint32_t>(mask >> 32);
  return Checked(syscall(SYS_capset, &header, data));
}

bool HoldsExactly(uint64_t effective, uint64_t bounding) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) < 0) return false;
  uint64_t now = data[0].effective | static_cast<uint64_t>(data[1].effective) << 32;
  uint64_t permitted = data[0].permitted | static_cast<uint64_t>(data[1].permitted) << 32;
  uint64_t inheritable = data[0].inheritable | static_cast<uint64_t>(data[1].inheritable) << 32;
  if (now != effective || permitted != effective || inheritable != 0) return false;
  for (int capability = 0; capability <= kLastCapability; ++capability) {
    int held = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (held < 0) return false;
    if (static_cast<uint64_t>(held) != (bounding >> capability & 1)) return false;
  }
  return true;
}

int SetNoNewPrivileges() { return Checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }
int DieWithParent() { return Checked(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)); }
int SetDumpable(bool dumpable) {
  return Checked(prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0));
}
bool SeccompInForce() { return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER; }
bool NoNewPrivilegesInForce() { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1; }

int BringLoopbackUp() {
  Fd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return -errno;
  ifreq request{};
  memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return Checked(ioctl(socket_fd.get(), SIOCSIFFLAGS, &request));
}

uint64_t RootInsideCapabilities(bool real_paths) {
  uint64_t mask = 0;
  for (int capability :
       {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID,
        CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_MKNOD, CAP_AUDIT_WRITE, CAP_SETFCAP})
    mask |= uint64_t{1} << capability;
  return real_paths ? mask & ~Bit(CAP_SETFCAP) : mask;
}

int PeerOf(int socket, PeerIdentity& peer) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) return -errno;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  size = sizeof peer.groups;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer.groups, &size) < 0) return -errno;
  peer.group_count = size / sizeof(gid_t);
  return 0;
}

int AcceptedAtFileOfRoot(int socket) {
  // The file a socket is bound to; an accepted socket shares its listener's.
  Fd file(ioctl(socket, kSocketFile));
  if (!file.valid()) return -errno;
  struct stat info;
  if (fstat(file.get(), &info) < 0) return -errno;
  return S_ISSOCK(info.st_mode) && info.st_uid == 0 ? 0 : -EPERM;
}

}  // namespace cloche::sys
