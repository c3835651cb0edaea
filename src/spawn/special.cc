#include "spawn/special.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "base/path_bounds.h"
#include "sys/directory.h"

namespace cloche::spawn {
namespace {

constexpr size_t kMostSpecial = 10'000'000;
constexpr size_t kMostBytes = 512 << 20;
constexpr const char* kOpaque = "y";

const char* OpaqueName(bool user_xattr) {
  return user_xattr ? "user.overlay.opaque" : "trusted.overlay.opaque";
}

std::string Attribute(int fd, const char* name) {
  char value[4096];
  const ssize_t size = fgetxattr(fd, name, value, sizeof value);
  return size > 0 ? std::string(value, static_cast<size_t>(size)) : "";
}

bool HasAny(int fd, std::initializer_list<std::string_view> wanted) {
  char names[4096];
  const ssize_t size = flistxattr(fd, names, sizeof names);
  if (size < 0) return true;  // they do not fit: ask for each
  for (const char* name = names; name < names + size; name += strlen(name) + 1)
    if (std::ranges::find(wanted, name) != wanted.end()) return true;
  return false;
}

// The base inode that a file was copied from: overlayfs stores its file handle. 0: none, or on a
// filesystem that we do not know.
uint64_t OriginOf(int directory, const char* name, const char* attribute) {
  constexpr size_t kHandle = 21;  // after version, magic, length, flags, type and uuid
  // There is no *at version before 6.13.
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
  unsigned char value[256];
  const ssize_t got = lgetxattr(path.c_str(), attribute, value, sizeof value);
  if (got < 0 || static_cast<size_t>(got) < kHandle + 8) return 0;
  const size_t size = static_cast<size_t>(got) - kHandle;
  const auto word = [&](size_t i) {
    uint32_t number = 0;
    memcpy(&number, value + kHandle + i * sizeof number, sizeof number);
    return uint64_t{number};
  };
  switch (value[4]) {
    case 1:  // ino, generation; tmpfs: generation, 64-bit ino
      return size == 12 ? word(1) | word(2) << 32 : word(0);
    case 0x4d:  // btrfs
    case 0x81:  // xfs
      return word(0) | word(1) << 32;
    default:
      return 0;
  }
}

bool Take(Few& few, int directory, const dirent& entry) {
  struct stat info {};
  if (entry.d_type == DT_REG) (void)fstatat(directory, entry.d_name, &info, AT_SYMLINK_NOFOLLOW);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (few.entries == 0 || size > few.bytes) return false;
  --few.entries;
  few.bytes -= size;
  return true;
}

}  // namespace

OrFailure<void> MarkBlank(int slot, bool user_xattr) {
  const sys::Fd upper(openat(slot, "u", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!upper.valid() || fsetxattr(upper.get(), OpaqueName(user_xattr), kOpaque, 1, 0) < 0)
    return Failed(SpawnStep::kPool, "mark upper", errno, "");
  return {};
}

OrFailure<void> FindSpecial(int upper, uint32_t slot, bool of_other, bool user_xattr, bool copied,
                            StateLayout& layout, Few* few) {
  const char* opaque = OpaqueName(user_xattr);
  const char* origin = user_xattr ? "user.overlay.origin" : "trusted.overlay.origin";
  const char* redirect = user_xattr ? "user.overlay.redirect" : "trusted.overlay.redirect";
  struct Level {
    std::unique_ptr<sys::Directory> list;
    size_t path;  // length of this directory's path
  };
  std::string path;
  size_t bytes = 0;
  if (Attribute(upper, opaque) == kOpaque) layout.special.push_back({of_other, slot, "", true, ""});
  std::vector<Level> stack;
  stack.push_back({std::make_unique<sys::Directory>(upper, "."), 0});
  while (!stack.empty()) {
    Level& level = stack.back();
    const dirent* entry = level.list->Next();
    if (!entry) {
      if (level.list->error() != 0)
        return Failed(SpawnStep::kPool, "read upper", level.list->error(), "");
      stack.pop_back();
      continue;
    }
    if (few && !Take(*few, level.list->fd(), *entry))
      return Failed(SpawnStep::kPool, "read upper", E2BIG);
    uint64_t inode = 0;
    if (copied && (entry->d_type == DT_REG || entry->d_type == DT_DIR))
      inode = OriginOf(level.list->fd(), entry->d_name, origin);
    if (inode != 0) {
      const std::string above = path.substr(0, level.path);
      layout.copied.push_back(
          {slot, above.empty() ? entry->d_name : above + "/" + entry->d_name, inode});
      bytes += layout.copied.back().path.size();
      if (layout.copied.size() >= kMostSpecial || bytes > kMostBytes)
        return Failed(SpawnStep::kPool, "read upper", E2BIG);
    }
    if (entry->d_type != DT_DIR) continue;
    path.resize(level.path);
    if (!path.empty()) path += '/';
    path += entry->d_name;
    if (IsTooDeep(path)) continue;  // readers stop there, too, and report it
    sys::Fd child(
        openat(level.list->fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child.valid() && errno == ENOENT) continue;  // removed meanwhile
    if (!child.valid()) return Failed(SpawnStep::kPool, "open upper", errno, entry->d_name);
    // Few have either: one call shows that most have neither.
    const bool marked = HasAny(child.get(), {opaque, redirect});
    SpecialDirectory special{of_other, slot, path,
                             marked && Attribute(child.get(), opaque) == kOpaque, ""};
    // In the kernel, opaque wins, too.
    if (marked && !special.opaque) special.redirect = Attribute(child.get(), redirect);
    if (!special.redirect.empty())
      special.origin = OriginOf(level.list->fd(), entry->d_name, origin);
    if (special.opaque || !special.redirect.empty()) {
      bytes += special.path.size() + special.redirect.size();
      if (layout.special.size() >= kMostSpecial || bytes > kMostBytes)
        return Failed(SpawnStep::kPool, "read upper", E2BIG);
      layout.special.push_back(std::move(special));
    }
    stack.push_back({std::make_unique<sys::Directory>(std::move(child)), path.size()});
  }
  return {};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the stack is empty by then

}  // namespace cloche::spawn
