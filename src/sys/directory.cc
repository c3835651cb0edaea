#include "sys/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace cloche::sys {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

// If the fd was not opened, errno still says why.
Directory::Directory(Fd fd) : fd_(std::move(fd)), error_(fd_.valid() ? 0 : errno) {}

Directory::Directory(int dir, const char* path) : Directory(Fd(openat(dir, path, kOpenFlags))) {}

// readdir would do, but fdopendir makes three extra system calls per directory.
const dirent* Directory::Next() {
  static_assert(sizeof(dirent) == sizeof(dirent64) && alignof(dirent) == alignof(dirent64));
  for (;;) {
    if (at_ == used_) {
      at_ = used_ = 0;
      if (error_ != 0) return nullptr;
      const ssize_t got = getdents64(fd_.get(), entries_, sizeof entries_);
      if (got < 0 && errno != ENOENT) error_ = errno;  // removed meanwhile: that is its end
      if (got <= 0) return nullptr;
      used_ = got;
    }
    const auto* entry = reinterpret_cast<const dirent*>(entries_ + at_);
    at_ += entry->d_reclen;
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) return entry;
  }
}

bool IsEmptyDirectory(int dir, const char* path) {
  Directory list(dir, path);
  return list.Next() == nullptr && list.error() == 0;
}

namespace {

// A directory made unreadable inside (chmod 0) must still go; rootless, we own it.
Fd OpenForRemoval(int dir, const char* name) {
  int fd = openat(dir, name, kOpenFlags);
  if (fd < 0 && errno == EACCES) {
    fchmodat(dir, name, 0700, 0);
    fd = openat(dir, name, kOpenFlags);
  }
  return Fd(fd);
}

// Empties one directory. Directories found below are renamed up into it before they are emptied, so
// the descent is one level deep however deep the tree is, and no path grows.
class Emptying {
 public:
  Emptying(int top, dev_t device) : top_(top), device_(device) {}

  int Run() {  // 0 or -errno of the first entry that stayed
    while (Pass() && first_error_ == 0) {
    }
    return first_error_;
  }

 private:
  void Note(int error) {
    if (first_error_ == 0) first_error_ = -error;
  }

  // True if it has, or may have, moved directories up: they are for the next pass.
  bool Pass() {
    bool again = false;
    Directory list(top_, ".");
    while (const dirent* entry = list.Next()) again |= Remove(entry->d_name);
    if (list.error() != 0) Note(list.error());
    return again;
  }

  bool Remove(const char* name) {
    if (unlinkat(top_, name, 0) == 0 || errno == ENOENT) return false;
    const bool may_be_directory = errno == EISDIR || errno == EPERM || errno == EACCES;
    if (may_be_directory && unlinkat(top_, name, AT_REMOVEDIR) == 0) return false;
    if (!may_be_directory || errno == EBUSY || errno == EPERM) {
      Note(errno);
      return false;
    }
    Fd child = OpenForRemoval(top_, name);
    if (!child.valid()) {
      Note(errno);
      return false;
    }
    fchmod(child.get(), 0700);
    struct stat info;
    if (fstat(child.get(), &info) < 0 || info.st_dev != device_) {
      Note(EXDEV);
      return false;
    }
    MoveUp(std::move(child));
    if (unlinkat(top_, name, AT_REMOVEDIR) < 0) Note(errno);
    return true;
  }

  void MoveUp(Fd child) {
    Directory below(std::move(child));
    while (const dirent* entry = below.Next()) {
      if (unlinkat(below.fd(), entry->d_name, 0) == 0) continue;
      if (unlinkat(below.fd(), entry->d_name, AT_REMOVEDIR) == 0) continue;
      char fresh[32];
      do {
        snprintf(fresh, sizeof fresh, ".rm-%u", ++serial_);
      } while (faccessat(top_, fresh, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
      fchmodat(below.fd(), entry->d_name, 0700, 0);
      if (renameat(below.fd(), entry->d_name, top_, fresh) < 0) Note(errno);
    }
    if (below.error() != 0) Note(below.error());
  }

  int top_;
  dev_t device_;
  int first_error_ = 0;
  unsigned serial_ = 0;
};

}  // namespace

int RemoveTree(int dir, const char* name) {
  struct stat info;
  if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT ? 0 : -errno;
  if (!S_ISDIR(info.st_mode)) return unlinkat(dir, name, 0) < 0 ? -errno : 0;
  const Fd top = OpenForRemoval(dir, name);
  if (!top.valid()) return -errno;
  if (int error = Emptying(top.get(), info.st_dev).Run(); error < 0) return error;
  return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

}  // namespace cloche::sys
