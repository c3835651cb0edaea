#include "sys/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sys/kernel_abi.h"

namespace cloche::sys {
namespace {

int Checked(long value) { return value < 0 ? -errno : static_cast<int>(value); }

}  // namespace

int OpenTree(int dir, const char* path, bool recursive) {
  unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0u) |
                   (*path == '\0' ? AT_EMPTY_PATH : 0u);
  return Checked(syscall(SYS_open_tree, dir, path, flags));
}

int IdmapMount(int mount, int user_namespace, bool recursive) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<uint64_t>(user_namespace);
  return Checked(syscall(SYS_mount_setattr, mount, "",
                         AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attributes,
                         sizeof attributes));
}

int SetMountFlags(int mount, uint64_t set, bool recursive) {
  mount_attr attributes{};
  attributes.attr_set = set;
  return Checked(syscall(SYS_mount_setattr, mount, "",
                         AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attributes,
                         sizeof attributes));
}

int MakeSlave(int mount) {
  mount_attr attributes{};
  attributes.propagation = MS_SLAVE;
  return Checked(
      syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes));
}

int AttachMount(int mount, int dir, const char* path) {
  return Checked(syscall(SYS_move_mount, mount, "", dir, path, MOVE_MOUNT_F_EMPTY_PATH));
}

int AttachMountAt(int mount, int directory) {
  return Checked(syscall(SYS_move_mount, mount, "", directory, "",
                         MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}

int DetachMount(const char* path) { return Checked(umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW)); }

bool IsOverlay(int fd) {
  struct statfs info;
  return fstatfs(fd, &info) == 0 && info.f_type == OVERLAYFS_SUPER_MAGIC;
}

// Reconfiguring a filesystem drops its cached names first, whether or not anything changes. An
// overlay without an upper refuses the rest.
int ForgetNames(int root) {
  const Fd context(Checked(syscall(SYS_fspick, root, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC)));
  if (!context.valid()) return context.get();
  const int error =
      Checked(syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0));
  return error == -EROFS ? 0 : error;
}

int DetachMountOf(int root) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", root);
  return Checked(umount2(path, MNT_DETACH));
}

int SetTmpfsFiles(const char* path, uint64_t count) {
  char option[40];
  snprintf(option, sizeof option, "nr_inodes=%llu", static_cast<unsigned long long>(count));
  return Checked(mount(nullptr, path, nullptr, MS_REMOUNT | MS_NOSUID | MS_NODEV, option));
}

int MakeMountsPrivate() {
  return Checked(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
}
int MakeMountsSlave() { return Checked(mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr)); }

int PivotInto(int new_root) {
  if (fchdir(new_root) < 0) return -errno;
  if (syscall(SYS_pivot_root, ".", ".") < 0) return -errno;
  // The old root is now on top of the new one; it is detached with everything below it.
  if (umount2(".", MNT_DETACH) < 0) return -errno;
  return Checked(chdir("/"));
}

FsContext::FsContext(const char* type) {
  fd_ = Checked(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
  if (fd_ < 0) error_ = fd_;
}

FsContext::~FsContext() {
  if (fd_ >= 0) close(fd_);
}

FsContext& FsContext::String(const char* key, const char* value) {
  if (error_ == 0) {
    error_ = Checked(syscall(SYS_fsconfig, fd_, FSCONFIG_SET_STRING, key, value, 0));
    failed_ = key;
  }
  return *this;
}

FsContext& FsContext::Number(const char* key, uint64_t value, int base) {
  char text[32];
  snprintf(text, sizeof text, base == 8 ? "%lo" : "%lu", value);
  return String(key, text);
}

FsContext& FsContext::Flag(const char* key) {
  if (error_ == 0) {
    error_ = Checked(syscall(SYS_fsconfig, fd_, FSCONFIG_SET_FLAG, key, nullptr, 0));
    failed_ = key;
  }
  return *this;
}

int FsContext::Mount(uint64_t attributes) {
  if (error_ < 0) return error_;
  error_ = Checked(syscall(SYS_fsconfig, fd_, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0));
  failed_ = "create";
  if (error_ < 0) return error_;
  failed_ = "fsmount";
  return Checked(syscall(SYS_fsmount, fd_, FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
}

int MakeOverlay(const OverlayLayers& layers, uint64_t attributes, const char*& failed) {
  char lower[96], upper[32], work[32];
  int used = 0;
  for (int layer : {layers.mask, layers.lower, layers.below})
    if (layer >= 0)
      used += snprintf(lower + used, sizeof lower - static_cast<size_t>(used), "%s/proc/self/fd/%d",
                       used == 0 ? "" : ":", layer);
  snprintf(upper, sizeof upper, "/proc/self/fd/%d", layers.upper);
  snprintf(work, sizeof work, "/proc/self/fd/%d", layers.work);

  FsContext overlay("overlay");
  overlay.String("source", "cloche").String("lowerdir", lower);
  if (layers.upper >= 0) overlay.String("upperdir", upper).String("workdir", work);
  if (layers.user_xattr) {
    overlay.Flag("userxattr");
  } else {
    overlay.String("redirect_dir", layers.upper >= 0 ? "on" : "nofollow");
    overlay.String("metacopy", "off");
  }
  // With xino=on, inode numbers exceed 2^53. Without volatile, every unmount syncs the whole pool.
  overlay.String("xino", "off").String("index", "off");
  if (layers.upper >= 0) overlay.Flag("volatile");
  int mount = overlay.Mount(attributes);
  failed = overlay.failed();
  return mount;
}

int MakeOpaque(int directory, bool user_xattr) {
  const char* name = user_xattr ? "user.overlay.opaque" : "trusted.overlay.opaque";
  return fsetxattr(directory, name, "y", 1, 0) < 0 ? -errno : 0;
}

}  // namespace cloche::sys
