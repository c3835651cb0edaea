#include "change/apply/reality.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "base/shown_path.h"
#include "base/text.h"
#include "sys/file_times.h"
#include "sys/process.h"

namespace cloche::apply {

Identity IdentityOf(const struct stat& info) {
  return {info.st_dev, info.st_ino, sys::Nanos(info.st_ctim)};
}

Identity IdentityAt(int directory, const std::string& name) {
  struct stat info;
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return {};
  return IdentityOf(info);
}

Result<Reality> Reality::Open(const std::string& target) {
  Reality reality;
  reality.target_ = target;
  sys::Fd root(sys::OpenWithoutSymlinks(target.c_str(), O_RDONLY | O_DIRECTORY));
  if (!root.valid())
    return Fail(Code::kUnavailable,
                fmt::format("open {}: {}", EscapeForTerminal(target), strerror(-root.get())));
  struct stat info;
  if (fstat(root.get(), &info) < 0)
    return Fail(Code::kUnavailable, fmt::format("open {}: {}", target, strerror(errno)));
  reality.device_ = info.st_dev;
  reality.root_ = std::make_shared<const sys::Fd>(std::move(root));
  return reality;
}

int Reality::Sync() const { return syncfs(root_->get()); }

Result<Name> Reality::Find(const std::string& path) const {
  const size_t skip = target_ == "/" ? 1 : target_.size() + 1;
  const size_t slash = path.find_last_of('/');
  if (path.size() <= skip || !path.starts_with(target_) || slash + 1 < skip)
    return Fail(Code::kInternal, "find " + ShownPath(path) + ": it is not below " + target_);
  ASSIGN_OR_RETURN(auto directory, Directory(path.substr(0, std::max<size_t>(slash, 1))));
  return Name{std::move(directory), path.substr(slash + 1)};
}

Result<std::shared_ptr<const sys::Fd>> Reality::Directory(const std::string& path) const {
  if (path == target_) return root_;
  if (path == last_path_ && last_) return last_;
  const std::string below = path.substr(target_ == "/" ? 1 : target_.size() + 1);
  sys::Fd opened(sys::OpenOnMount(root_->get(), below.c_str(), O_RDONLY | O_DIRECTORY));
  if (!opened.valid()) {
    const int error = -opened.get();
    const char* why = error == ELOOP   ? "a directory above it is a symlink"
                      : error == EXDEV ? "it is on another mount than the sandbox saw"
                                       : strerror(error);
    return Fail(error == ENOENT ? Code::kNotFound : Code::kConflict,
                fmt::format("reach {}: {}", ShownPath(path), why));
  }
  last_path_ = path;
  last_ = std::make_shared<const sys::Fd>(std::move(opened));
  return last_;
}

}  // namespace cloche::apply
