#include "change/apply/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/directory.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

using rules::Real;

constexpr uint64_t kFixed = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND;

Real WhyUnreachable(int error) {
  switch (error) {
    case ELOOP:
      return Real::kParentSymlink;
    case ENOTDIR:
      return Real::kParentFile;
    case ENOENT:
      return Real::kParentMissing;
    case EXDEV:
      return Real::kMountPoint;
    default:
      return Real::kUnknown;
  }
}

std::string NameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool HasName(int directory, const std::string& name) {
  sys::Directory list(directory, ".");
  while (const dirent* entry = list.Next())
    if (name == entry->d_name) return true;
  return false;
}

}  // namespace

const Survey::Directory& Survey::Parent(const std::string& target, const std::string& path) {
  const std::string parent = path.substr(0, std::max<size_t>(path.find_last_of('/'), 1));
  if (parent == last_.path && last_.fd) return last_;
  last_ = {};
  last_.path = parent;
  auto top = targets_.find(target);
  if (top == targets_.end())
    top = targets_.emplace(target, sys::OpenWithoutSymlinks(target.c_str(), O_RDONLY | O_DIRECTORY))
              .first;
  if (!top->second.valid()) {
    last_.error = -top->second.get();
    return last_;
  }
  const size_t skip = target == "/" ? 1 : target.size() + 1;
  const std::string below = parent.size() > skip ? parent.substr(skip) : ".";
  sys::Fd opened(sys::OpenOnMount(top->second.get(), below.c_str(), O_RDONLY | O_DIRECTORY));
  if (!opened.valid()) {
    last_.error = -opened.get();
    return last_;
  }
  struct statx info {};
  if (statx(opened.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &info) < 0) {
    last_.error = errno;
    return last_;
  }
  last_.writable = faccessat(opened.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
  last_.sticky = (info.stx_mode & S_ISVTX) != 0;
  last_.owner = info.stx_uid;
  last_.immutable = (info.stx_attributes & kFixed) != 0;
  unsigned flags = 0;
  last_.folds_case =
      ioctl(opened.get(), FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0;
  last_.fd = std::make_shared<const sys::Fd>(std::move(opened));
  return last_;
}

std::optional<Real> Survey::Obstacle(const std::string& target, const std::string& path) {
  const Directory& parent = Parent(target, path);
  if (!parent.fd) return WhyUnreachable(parent.error);
  const std::string name = NameOf(path);
  struct statx info {};
  const bool there = statx(parent.fd->get(), name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                           STATX_BASIC_STATS, &info) == 0;
  if (!there && errno != ENOENT) return WhyUnreachable(errno);
  if (there && (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) return Real::kMountPoint;
  if (there && parent.folds_case && !HasName(parent.fd->get(), name)) return Real::kCaseCollision;
  // An append-only directory accepts new names, but not by rename.
  if (parent.immutable || (there && (info.stx_attributes & kFixed) != 0)) return Real::kImmutable;
  const bool others = there && parent.sticky && geteuid() != 0 && info.stx_uid != geteuid() &&
                      parent.owner != geteuid();
  if (!parent.writable || others) return Real::kUnwritable;
  return std::nullopt;
}

std::optional<walk::LayerFile> Survey::Find(const std::string& target, const std::string& path) {
  return walk::FindFile(Parent(target, path).fd, NameOf(path));
}

}  // namespace cloche::apply
