#include "spawn/special.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include <memory>
#include <vector>

#include "sys/directory.h"

namespace cloche::spawn {
namespace {

constexpr size_t kMostSpecial = 10'000'000;
constexpr size_t kMostPath = 64 << 10;
constexpr size_t kMostBytes = 512 << 20;

std::string Attribute(int fd, const char* name) {
  char value[4096];
  const ssize_t size = fgetxattr(fd, name, value, sizeof value);
  return size > 0 ? std::string(value, static_cast<size_t>(size)) : "";
}

}  // namespace

Outcome<void> FindSpecial(int upper, uint32_t slot, bool of_other, bool user_xattr,
                          StateLayout& layout) {
  const char* opaque = user_xattr ? "user.overlay.opaque" : "trusted.overlay.opaque";
  const char* redirect = user_xattr ? "user.overlay.redirect" : "trusted.overlay.redirect";
  struct Level {
    std::unique_ptr<sys::Directory> list;
    size_t path;  // how much of it is this directory's
  };
  std::string path;
  size_t bytes = 0;
  std::vector<Level> stack;
  stack.push_back({std::make_unique<sys::Directory>(upper, "."), 0});
  while (!stack.empty()) {
    Level& level = stack.back();
    const dirent* entry = level.list->Next();
    if (!entry) {
      if (level.list->error() != 0)
        return Failed(SpawnStage::kPool, "read upper", level.list->error(), "");
      stack.pop_back();
      continue;
    }
    if (entry->d_type != DT_DIR) continue;
    sys::Fd child(
        openat(level.list->fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child.valid()) return Failed(SpawnStage::kPool, "open upper", errno, entry->d_name);
    path.resize(level.path);
    if (!path.empty()) path += '/';
    path += entry->d_name;
    if (path.size() > kMostPath) return Failed(SpawnStage::kPool, "read upper", ENAMETOOLONG);
    SpecialDirectory special{of_other, slot, path, Attribute(child.get(), opaque) == "y",
                             Attribute(child.get(), redirect)};
    if (special.opaque || !special.redirect.empty()) {
      bytes += special.path.size() + special.redirect.size();
      if (layout.special.size() >= kMostSpecial || bytes > kMostBytes)
        return Failed(SpawnStage::kPool, "read upper", E2BIG);
      layout.special.push_back(std::move(special));
    }
    stack.push_back({std::make_unique<sys::Directory>(std::move(child)), path.size()});
  }
  return {};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the stack is empty by then

}  // namespace cloche::spawn
