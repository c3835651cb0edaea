#include "spawn/mark_new.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include <memory>
#include <string>
#include <vector>

#include "base/path_bounds.h"
#include "sys/directory.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

bool IsOpaque(int directory) {
  char value = 0;
  return fgetxattr(directory, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

}  // namespace

// The sandbox may have made a directory inaccessible: we are root over its files, so no mode need
// be changed.
OrFailure<void> MarkNewDirectories(int upper, int base) {
  if (IsOpaque(upper)) return {};
  struct Level {
    std::unique_ptr<sys::Directory> list;
    sys::Fd base;
    size_t path;  // length of this directory's path
  };
  std::string path;
  std::vector<Level> stack;
  stack.push_back(
      {std::make_unique<sys::Directory>(upper, "."), sys::Fd(fcntl(base, F_DUPFD_CLOEXEC, 0)), 0});
  while (!stack.empty()) {
    Level& level = stack.back();
    const dirent* entry = level.list->Next();
    if (!entry) {
      if (level.list->error() != 0)
        return Failed(SpawnStep::kPool, "read upper", level.list->error(), path);
      stack.pop_back();
      continue;
    }
    if (entry->d_type != DT_DIR) continue;
    path.resize(level.path);
    path += '/';
    path += entry->d_name;
    if (IsTooDeep(path)) continue;  // no promotion gets there
    sys::Fd own(
        openat(level.list->fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!own.valid() && errno == ENOENT) continue;  // removed meanwhile
    if (!own.valid()) return Failed(SpawnStep::kPool, "open upper", errno, path);
    if (IsOpaque(own.get())) continue;
    sys::Fd below(sys::OpenOnMount(level.base.get(), entry->d_name, O_PATH | O_DIRECTORY));
    if (below.valid()) {
      stack.push_back(
          {std::make_unique<sys::Directory>(std::move(own)), std::move(below), path.size()});
      continue;
    }
    const int error = -below.get();
    // The overlay does not see what is mounted there, and nobody promotes into a directory that is
    // closed to us.
    if (error == EXDEV || error == EACCES) continue;
    if (error != ENOENT && error != ENOTDIR && error != ELOOP)
      return Failed(SpawnStep::kPool, "open base", error, path);
    if (int failed = sys::MakeOpaque(own.get(), true); failed < 0)
      return Failed(SpawnStep::kPool, "mark a new directory", failed, path);
  }
  return {};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the stack is empty by then

}  // namespace cloche::spawn
