#include "change/walk/layer_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <vector>

#include "base/text.h"
#include "sys/kernel_abi.h"

namespace cloche::walk {
namespace {

// Attributes of overlayfs and of ours: they say how a layer is stored, not what it contains.
bool IsBookkeeping(std::string_view name, bool user_xattr) {
  return name.starts_with("trusted.overlay.") || name.starts_with("trusted.cloche.") ||
         (user_xattr && name.starts_with("user.overlay."));
}

change::FileType TypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return change::FileType::kDirectory;
    case S_IFLNK:
      return change::FileType::kSymlink;
    case S_IFIFO:
      return change::FileType::kFifo;
    case S_IFSOCK:
      return change::FileType::kSocket;
    case S_IFCHR:
      return change::FileType::kChar;
    case S_IFBLK:
      return change::FileType::kBlock;
    default:
      return change::FileType::kFile;
  }
}

std::string ProcPath(const LayerFile& place) {
  return fmt::format("/proc/self/fd/{}/{}", place.directory->get(), place.name);
}

// Most files have no attributes worth reporting; listxattrat (Linux 6.13) finds that out without
// going through /proc.
ssize_t ListAttributes(const LayerFile& place, std::vector<char>& names) {
  const long size = syscall(sys::kListxattrat, place.directory->get(), place.name.c_str(),
                            AT_SYMLINK_NOFOLLOW, names.data(), names.size());
  if (size >= 0 || (errno != ENOSYS && errno != EPERM)) return size;  // EPERM: a container's filter
  return llistxattr(ProcPath(place).c_str(), names.data(), names.size());
}

Status ReadAttributes(const LayerFile& place, bool user_xattr, change::Side& side) {
  std::vector<char> names(1024);
  ssize_t size;
  while ((size = ListAttributes(place, names)) < 0 && errno == ERANGE)
    names.resize(names.size() * 2);
  if (size < 0 && (errno == EOPNOTSUPP || errno == EACCES || errno == ENOENT)) return {};
  if (size < 0)
    return Fail(Code::kUnavailable, fmt::format("read attributes of {}: {}",
                                                EscapeForTerminal(place.name), strerror(errno)));
  for (const char* name = names.data(); name < names.data() + size; name += strlen(name) + 1) {
    if (IsBookkeeping(name, user_xattr)) continue;
    std::vector<char> value(1024);
    ssize_t length;
    while ((length = lgetxattr(ProcPath(place).c_str(), name, value.data(), value.size())) < 0 &&
           errno == ERANGE)
      value.resize(value.size() * 2);
    if (length >= 0) side.xattrs[name] = std::string(value.data(), static_cast<size_t>(length));
  }
  return {};
}

struct stat StatOf(const struct statx& info) {
  struct stat same {};
  same.st_dev = makedev(info.stx_dev_major, info.stx_dev_minor);
  same.st_ino = info.stx_ino;
  same.st_mode = info.stx_mode;
  same.st_nlink = info.stx_nlink;
  same.st_uid = info.stx_uid;
  same.st_gid = info.stx_gid;
  same.st_rdev = makedev(info.stx_rdev_major, info.stx_rdev_minor);
  same.st_size = static_cast<off_t>(info.stx_size);
  same.st_atim = {info.stx_atime.tv_sec, info.stx_atime.tv_nsec};
  same.st_mtim = {info.stx_mtime.tv_sec, info.stx_mtime.tv_nsec};
  same.st_ctim = {info.stx_ctime.tv_sec, info.stx_ctime.tv_nsec};
  return same;
}

}  // namespace

// A single call per file: a diff consists of little else.
std::optional<LayerFile> FindFile(const SharedFd& directory, const std::string& name) {
  if (!directory) return std::nullopt;
  struct statx info {};
  if (statx(directory->get(), name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
            STATX_BASIC_STATS, &info) < 0)
    return std::nullopt;
  return LayerFile{directory, name, StatOf(info),
                   (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0};
}

SharedFd OpenDirectory(const LayerFile& place) {
  sys::Fd fd(openat(place.directory->get(), place.name.c_str(),
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return fd.valid() ? std::make_shared<const sys::Fd>(std::move(fd)) : nullptr;
}

sys::Fd OpenFile(const LayerFile& place) {
  sys::Fd fd(openat(place.directory->get(), place.name.c_str(),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) < 0 || info.st_ino != place.info.st_ino ||
      info.st_dev != place.info.st_dev || !S_ISREG(info.st_mode))
    return {};
  return fd;
}

bool BornSince(const LayerFile& place, int64_t since_ns) {
  struct statx info {};
  if (statx(place.directory->get(), place.name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &info) <
          0 ||
      (info.stx_mask & STATX_BTIME) == 0)
    return true;  // unknown
  return info.stx_btime.tv_sec * int64_t{1'000'000'000} + info.stx_btime.tv_nsec >= since_ns;
}

Result<change::Side> Describe(const LayerFile& place, bool user_xattr) {
  change::Side side;
  side.type = TypeOf(place.info.st_mode);
  side.mode = place.info.st_mode & 07777;
  side.uid = place.info.st_uid;
  side.gid = place.info.st_gid;
  if (side.type == change::FileType::kFile) {
    side.size = static_cast<uint64_t>(place.info.st_size);
    if (place.info.st_nlink > 1) side.hard_link = place.info.st_ino;
  } else if (side.type == change::FileType::kSymlink) {
    side.mode = 0777;
    char target[change::kMaxTarget + 1];
    const ssize_t size =
        readlinkat(place.directory->get(), place.name.c_str(), target, sizeof target);
    if (size < 0 || size > static_cast<ssize_t>(change::kMaxTarget))
      return Fail(Code::kUnavailable, fmt::format("read symlink {}: {}",
                                                  EscapeForTerminal(place.name), strerror(errno)));
    side.target.assign(target, static_cast<size_t>(size));
  } else if (side.type == change::FileType::kChar || side.type == change::FileType::kBlock) {
    side.rdev_major = major(place.info.st_rdev);
    side.rdev_minor = minor(place.info.st_rdev);
  }
  CLOCHE_TRY(ReadAttributes(place, user_xattr, side));
  return side;
}

}  // namespace cloche::walk
