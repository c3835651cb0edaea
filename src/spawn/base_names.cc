#include "spawn/base_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "sys/fd.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

struct Split {
  std::string above, name;
};

Split SplitLast(const std::string& path) {
  const size_t slash = path.rfind('/');
  return {path.substr(0, slash == 0 ? 1 : slash), path.substr(slash + 1)};
}

std::string Join(const std::string& above, const std::string& name) {
  return (above == "/" ? "" : above) + "/" + name;
}

// `path` is for the error message.
OrFailure<std::string> PathOf(int fd, const std::string& path) {
  char real[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = readlink(link.c_str(), real, sizeof real);
  // A directory without a name of its own cannot be hidden by name.
  if (size < 0 || static_cast<size_t>(size) == sizeof real)
    return Failed(SpawnStep::kFiles, "follow links", size < 0 ? errno : ENAMETOOLONG, path);
  if (size == 0 || real[0] != '/') return std::string();
  return std::string(real, static_cast<size_t>(size));
}

}  // namespace

int BaseNames::Open(const std::string& path) const {
  if (path.size() >= PATH_MAX) {  // only found by walking down, so no link is on the way
    const sys::Fd root(base_ >= 0 ? -1 : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return sys::OpenBeneath(base_ >= 0 ? base_ : root.get(), path.c_str() + 1, O_PATH | O_DIRECTORY,
                            false);
  }
  if (base_ >= 0) return sys::OpenBeneath(base_, path.c_str(), O_PATH | O_DIRECTORY, true);
  const int opened = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  return opened < 0 ? -errno : opened;
}

OrFailure<std::string> BaseNames::Directory(const std::string& path) const {
  const sys::Fd opened(Open(path));
  if (!opened.valid()) {
    const int error = -opened.get();
    if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES)
      return std::string();
    return Failed(SpawnStep::kFiles, "follow links", error, path);
  }
  auto real = PathOf(opened.get(), path);
  if (!real || real->empty() || base_ < 0) return real;
  // Relative to the base, as inside.
  const auto top = PathOf(base_, "/");
  if (!top || *top == "/") return top ? real : top;
  if (*real == *top) return std::string("/");
  return !top->empty() && real->starts_with(*top + "/") ? real->substr(top->size()) : std::string();
}

OrFailure<std::string> BaseNames::Behind(const std::string& path) {
  const auto [above, name] = SplitLast(path);
  if (name.empty() || name == "." || name == "..") return Directory(path);
  if (above != asked_) {
    auto found = Directory(above);
    if (!found) return found;
    behind_ = std::move(*found);
    asked_ = above;
  }
  return behind_.empty() ? "" : Join(behind_, name);
}

OrFailure<std::string> BaseNames::Target(const std::string& path) {
  const auto [above, name] = SplitLast(path);
  if (name.empty()) return std::string();
  if (above != opened_) {
    directory_ = sys::Fd(Open(above));
    opened_ = above;
  }
  char target[PATH_MAX];
  const bool there = directory_.valid();
  const ssize_t size =
      there ? readlinkat(directory_.get(), name.c_str(), target, sizeof target) : -1;
  if (size < 0 &&
      (!there || errno == EINVAL || errno == ENOENT || errno == EACCES || errno == ENOTDIR))
    return std::string();
  if (size < 0 || static_cast<size_t>(size) == sizeof target)
    return Failed(SpawnStep::kFiles, "read link", size < 0 ? errno : ENAMETOOLONG, path);
  std::string next(target, static_cast<size_t>(size));
  if (!next.starts_with('/')) next = Join(above, next);
  while (next.size() > 1 && next.ends_with('/')) next.pop_back();
  return Behind(next);
}

}  // namespace cloche::spawn
