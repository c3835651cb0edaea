#pragma once

#include <stdint.h>

#include "sys/fd.h"

namespace cloche::sys {

inline constexpr uint64_t kMountReadOnly = 0x1;
inline constexpr uint64_t kMountNoSuid = 0x2;
inline constexpr uint64_t kMountNoDev = 0x4;
inline constexpr uint64_t kMountNoExec = 0x8;
inline constexpr uint64_t kMountNoAtime = 0x10;

// The new mount API as thin wrappers that return an fd (or 0) or -errno. All allocation-free.

int OpenTree(int dir, const char* path, bool recursive);                // a detached clone
int IdmapMount(int mount, int user_namespace, bool recursive = false);  // in place
int MakeSlave(int mount);  // receives mounts from its peers, but passes none on
int SetMountFlags(int mount, uint64_t set, bool recursive);  // MOUNT_ATTR_*
int AttachMount(int mount, int dir, const char* path);
int AttachMountAt(int mount, int directory);  // onto the directory behind the fd
bool IsOverlay(int fd);                       // a file of overlayfs
int DetachMount(const char* path);
int ForgetNames(int root);    // drops that filesystem's unused cached names
int DetachMountOf(int root);  // the mount whose root it is, wherever its path leads by now
int SetTmpfsFiles(const char* path, uint64_t count);  // nr_inodes of a mounted one
int MakeMountsPrivate();                              // everything below /, no propagation
int MakeMountsSlave();                                // the host's changes come in, ours stay here
int PivotInto(int new_root);  // new root from a directory fd; detaches the old one

// A new filesystem instance: options are set one by one, never spliced into a string.
class FsContext {
 public:
  explicit FsContext(const char* type);
  int error() const { return error_; }
  FsContext& String(const char* key, const char* value);
  FsContext& Number(const char* key, uint64_t value, int base = 10);
  FsContext& Flag(const char* key);
  FsContext& Source(const char* name) { return String("source", name); }
  // Creates and mounts it (detached): an fd, or -errno with the first failed key in failed().
  int Mount(uint64_t attributes);
  const char* failed() const { return failed_; }
  ~FsContext();

 private:
  int fd_ = -1;
  int error_ = 0;
  const char* failed_ = "fsopen";
};

// An overlay from directories, passed by /proc/self/fd, because kernels before 6.5 do not take fds.
// `mask` is a second lower above `lower` (or -1). Without an upper the overlay is read-only, and
// `below`, an empty directory, may serve as the second lower that the kernel then requires. Returns
// a detached mount or -errno; `failed` names the step.
struct OverlayLayers {
  int lower = -1;
  int mask = -1;
  int below = -1;
  int upper = -1;
  int work = -1;
  bool user_xattr = false;  // rootless: marks in user.*, no directory redirects
};
int MakeOverlay(const OverlayLayers& layers, uint64_t attributes, const char*& failed);

// Makes a directory of a layer show nothing of the layers below it.
int MakeOpaque(int directory, bool user_xattr);

}  // namespace cloche::sys
