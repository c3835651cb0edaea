#include "sys/copy_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sys/directory.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace cloche::sys {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// In `to`, while we copy; a name nobody else uses.
constexpr const char* kLinks = ".cloche-links-6d1c9be2";

// There is no getxattrat before 6.13; /proc/self/fd/N/NAME serves as one, as long as NAME is the
// last component.
std::string PathOf(int dir, const char* name) {
  return "/proc/self/fd/" + std::to_string(dir) + "/" + name;
}

int CopyAttributes(const std::string& from, const std::string& to) {
  std::vector<char> names(1024), value(1024);
  ssize_t size;
  while ((size = llistxattr(from.c_str(), names.data(), names.size())) < 0 && errno == ERANGE)
    names.resize(names.size() * 2);
  if (size < 0) return errno == EOPNOTSUPP ? 0 : -errno;
  for (const char* name = names.data(); name < names.data() + size; name += strlen(name) + 1) {
    ssize_t length;
    while ((length = lgetxattr(from.c_str(), name, value.data(), value.size())) < 0 &&
           errno == ERANGE)
      value.resize(value.size() * 2);
    if (length < 0) return -errno;
    if (lsetxattr(to.c_str(), name, value.data(), static_cast<size_t>(length), 0) < 0)
      return -errno;
  }
  return 0;
}

// Owner first: chown clears setuid bits and file capabilities. Times last: everything else changes
// them. A directory is done as "." after its contents, because they would inherit from it.
int CopyStatus(const struct stat& info, int from, int to, const char* name) {
  if (fchownat(to, name, info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) < 0) {
    // Without privileges there is only one owner; other ids show as nobody's.
    struct stat made;
    if (fstatat(to, name, &made, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
    if (made.st_uid != info.st_uid || made.st_gid != info.st_gid) return -EPERM;
  }
  if (int error = CopyAttributes(PathOf(from, name), PathOf(to, name)); error < 0) return error;
  if (!S_ISLNK(info.st_mode) && fchmodat(to, name, info.st_mode & 07777, 0) < 0) return -errno;
  const timespec times[2] = {info.st_atim, info.st_mtim};
  return utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

// For files on different filesystems.
int CopyBytes(int from, int to, off_t at, off_t end) {
  std::vector<char> buffer(256 << 10);
  while (at < end) {
    const size_t wanted = std::min(buffer.size(), static_cast<size_t>(end - at));
    const ssize_t got = pread(from, buffer.data(), wanted, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put =
          pwrite(to, buffer.data() + done, static_cast<size_t>(got - done), at + done);
      if (put < 0 && errno != EINTR) return -errno;
      if (put > 0) done += put;
    }
    at += got;
  }
  return 0;
}

int CopyData(int from, int to, off_t size) {
  for (off_t at = 0; at < size;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // only a hole is left
    if (data < 0) return -errno;
    const off_t hole = lseek(from, data, SEEK_HOLE);
    if (hole < 0) return -errno;
    for (off_t in = data, out = data; in < hole;) {
      const ssize_t copied =
          copy_file_range(from, &in, to, &out, static_cast<size_t>(hole - in), 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0 && (errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL)) {
        if (int error = CopyBytes(from, to, in, hole); error < 0) return error;
        break;
      }
      if (copied < 0) return -errno;
      if (copied == 0) break;
    }
    at = hole;
  }
  return ftruncate(to, size) < 0 ? -errno : 0;
}

class Copy {
 public:
  Copy(int to, CopyCount& count, const std::vector<std::string>& leave_out)
      : top_(to), count_(count), leave_out_(leave_out) {}

  int Run(int from) {
    int error = Walk(from);
    const int removed = linked_ ? RemoveTree(top_, kLinks) : 0;
    return error != 0 ? error : removed;
  }

 private:
  // Keeps one directory of each tree open at a time, and for each one above only its read position.
  int Walk(int from) {
    Fd source(openat(from, ".", kDirectoryFlags)), target(openat(top_, ".", kDirectoryFlags));
    std::vector<long> above;
    long position = -1;
    for (;;) {
      if (!source.valid() || !target.valid()) return -errno;
      std::string down;
      const bool top = above.empty();
      if (int error = CopyEntries(source.get(), target.get(), top, position, down); error < 0)
        return error;
      if (!down.empty()) {
        above.push_back(position);
        position = -1;
        source = Fd(openat(source.get(), down.c_str(), kDirectoryFlags));
        target = Fd(openat(target.get(), down.c_str(), kDirectoryFlags));
        continue;
      }
      if (above.empty()) return 0;
      struct stat info;
      if (fstat(source.get(), &info) < 0) return -errno;
      if (int error = CopyStatus(info, source.get(), target.get(), "."); error < 0) return error;
      position = above.back();
      above.pop_back();
      source = Fd(openat(source.get(), "..", kDirectoryFlags));
      target = Fd(openat(target.get(), "..", kDirectoryFlags));
    }
  }

  // From `position` to the next directory to descend into, or to the end.
  int CopyEntries(int from, int to, bool top, long& position, std::string& down) {
    Fd again(openat(from, ".", kDirectoryFlags));
    if (!again.valid()) return -errno;
    DIR* list = fdopendir(again.get());
    if (list == nullptr) return -errno;
    (void)again.Release();
    if (position >= 0) seekdir(list, position);
    int error = 0;
    errno = 0;
    while (const dirent* entry = readdir(list)) {
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      if (top && std::ranges::find(leave_out_, entry->d_name) != leave_out_.end()) continue;
      bool directory = false;
      if (error = CopyEntry(from, to, entry->d_name, directory); error < 0) break;
      if (directory) {
        down = entry->d_name;
        position = telldir(list);
        break;
      }
      errno = 0;
    }
    if (error == 0 && down.empty()) error = -errno;
    closedir(list);
    return error;
  }

  int CopyEntry(int from, int to, const char* name, bool& directory) {
    struct stat info;
    if (fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
    // Not by device: an overlay shows files of its layers with theirs.
    if (IsMountRootAt(from, name)) return -EXDEV;
    ++count_.entries;
    directory = S_ISDIR(info.st_mode);
    if (directory) return mkdirat(to, name, 0700) < 0 ? -errno : 0;
    const std::string link =
        std::string(kLinks) + "/" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino);
    if (info.st_nlink > 1) {
      if (linkat(top_, link.c_str(), to, name, 0) == 0) return 0;
      // Filesystems limit the number of links; an overlay's whiteout may already have reached it,
      // and ours is one more.
      if (errno == EMLINK)
        unlinkat(top_, link.c_str(), 0);
      else if (errno != ENOENT)
        return -errno;
    }
    if (int error = Make(from, to, name, info); error < 0) return error;
    if (int error = CopyStatus(info, from, to, name); error < 0) return error;
    if (info.st_nlink < 2) return 0;
    if (!linked_ && mkdirat(top_, kLinks, 0700) < 0) return -errno;
    linked_ = true;
    return linkat(to, name, top_, link.c_str(), 0) < 0 ? -errno : 0;
  }

  int Make(int from, int to, const char* name, const struct stat& info) {
    if (S_ISREG(info.st_mode)) return MakeFile(from, to, name, info);
    if (!S_ISLNK(info.st_mode))
      return mknodat(to, name, info.st_mode & (S_IFMT | 0600), info.st_rdev) < 0 ? -errno : 0;
    char target[4097];
    const ssize_t length = readlinkat(from, name, target, sizeof target - 1);
    if (length < 0) return -errno;
    target[length] = '\0';
    return symlinkat(target, to, name) < 0 ? -errno : 0;
  }

  int MakeFile(int from, int to, const char* name, const struct stat& info) {
    Fd in(openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME));
    if (!in.valid() && errno == EPERM)  // not ours: O_NOATIME is refused
      in = Fd(openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!in.valid()) return -errno;
    Fd out(openat(to, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out.valid()) return -errno;
    const auto blocks = static_cast<uint64_t>(info.st_blocks) * 512;
    if (share_ && ioctl(out.get(), FICLONE, in.get()) == 0) {
      count_.shared += blocks;
      return 0;
    }
    share_ = share_ && errno != EOPNOTSUPP && errno != EXDEV && errno != ENOTTY;
    count_.bytes += blocks;
    return CopyData(in.get(), out.get(), info.st_size);
  }

  int top_;
  CopyCount& count_;
  const std::vector<std::string>& leave_out_;
  bool share_ = true;
  bool linked_ = false;  // kLinks exists
};

}  // namespace

int CopyFile(int from, int to, off_t size) {
  if (ioctl(to, FICLONE, from) == 0) return ftruncate(to, size) < 0 ? -errno : 0;
  return CopyData(from, to, size);
}

int CopyDirectoryStatus(int from, int to) {
  struct stat info;
  return fstat(from, &info) < 0 ? -errno : CopyStatus(info, from, to, ".");
}

int CopyTree(int from, int to, CopyCount& count, const std::vector<std::string>& leave_out) {
  return Copy(to, count, leave_out).Run(from);
}

}  // namespace cloche::sys
