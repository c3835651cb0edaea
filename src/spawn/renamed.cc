#include "spawn/renamed.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "sys/copy_tree.h"
#include "sys/directory.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

constexpr const char* kOperation = "copy renamed directory";
constexpr const char* kPassing = ".cloche-renamed";  // there for a moment, beside it

Failure Because(int error, const std::string& path) {
  return {SpawnStage::kPool, kOperation, error < 0 ? -error : error, path};
}

sys::Fd OpenBelow(int root, const std::string& path) {
  return sys::Fd(sys::OpenOnMount(root, path.c_str(), O_RDONLY | O_DIRECTORY));
}

// Makes a second tree out of a first: directories anew, everything else by one more name. A link to
// a file of the base makes overlayfs copy it, whatever kind it is.
class Mirror {
 public:
  explicit Mirror(int view) : view_(view) {}

  Outcome<void> Make(const std::string& from, const std::string& to);
  const std::set<FileNumber>& directories() const { return directories_; }  // of the first

 private:
  struct Level {
    std::string path, made;  // below the root of the overlay
    sys::Fd from, to;
    std::vector<std::string> names;  // left to do
  };
  Outcome<void> Enter(std::string path, std::string made);
  Outcome<void> Add(const Level& level, const std::string& name);

  int view_;
  std::vector<std::unique_ptr<Level>> stack_;
  std::map<FileNumber, std::string> linked_;  // files with several names: the first that was made
  std::set<FileNumber> directories_;
};

Outcome<void> Mirror::Enter(std::string path, std::string made) {
  if (mkdirat(view_, made.c_str(), 0700) < 0) return std::unexpected(Because(errno, path));
  auto level = std::make_unique<Level>();
  level->from = OpenBelow(view_, path);
  level->to = OpenBelow(view_, made);
  struct stat info;
  if (!level->from.valid() || !level->to.valid() || fstat(level->from.get(), &info) < 0)
    return std::unexpected(Because(errno, path));
  directories_.emplace(info.st_dev, info.st_ino);
  sys::Directory list(level->from.get(), ".");
  while (const dirent* entry = list.Next()) level->names.push_back(entry->d_name);
  if (list.error() != 0) return std::unexpected(Because(list.error(), path));
  level->path = std::move(path);
  level->made = std::move(made);
  stack_.push_back(std::move(level));
  return {};
}

Outcome<void> Mirror::Add(const Level& level, const std::string& name) {
  const std::string path = level.path + "/" + name, made = level.made + "/" + name;
  struct stat info;
  if (fstatat(level.from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0)
    return std::unexpected(Because(errno, path));
  if (S_ISDIR(info.st_mode)) return Enter(path, made);
  std::string first = path;
  if (S_ISREG(info.st_mode) && info.st_nlink > 1)
    first = linked_.emplace(FileNumber(info.st_dev, info.st_ino), made).first->second;
  if (first == made) first = path;
  if (linkat(view_, first.c_str(), level.to.get(), name.c_str(), 0) < 0)
    return std::unexpected(Because(errno, path));
  return {};
}

Outcome<void> Mirror::Make(const std::string& from, const std::string& to) {
  if (auto entered = Enter(from, to); !entered) return entered;
  while (!stack_.empty()) {
    Level& level = *stack_.back();
    if (level.names.empty()) {
      if (int error = sys::CopyDirectoryStatus(level.from.get(), level.to.get()); error < 0)
        return std::unexpected(Because(error, level.path));
      stack_.pop_back();
      continue;
    }
    const std::string name = std::move(level.names.back());
    level.names.pop_back();
    if (auto added = Add(level, name); !added) return added;
  }
  return {};
}

}  // namespace

void MarkLost(StateLayout& layout, const std::function<int(int32_t)>& fd) {
  for (uint32_t slot = 0; slot < layout.slots.size(); ++slot) {
    const LayoutSlot& where = layout.slots[slot];
    const SpecialDirectories special = SpecialOf(layout, slot, false);
    for (SpecialDirectory& each : layout.special) {
      if (each.slot != slot || each.of_other || each.redirect.empty()) continue;
      const std::string path = BasePathOf(special, each.path);
      const sys::Fd now = where.base < 0 ? sys::Fd() : OpenBelow(fd(where.base), path);
      struct stat info;
      each.lost = !now.valid() || fstat(now.get(), &info) < 0;
      // One in which something is hidden was copied from what hides it, which is made anew.
      const bool hides = where.mask >= 0 && OpenBelow(fd(where.mask), path).valid();
      if (!each.lost && !hides && each.origin != 0) each.lost = info.st_ino != each.origin;
    }
  }
}

bool DependsOnBase(const StateLayout& layout) {
  return std::ranges::any_of(layout.special, [](const SpecialDirectory& each) {
    return !each.of_other && !each.redirect.empty() && !each.lost;
  });
}

std::set<FileNumber> WorkingDirectories(pid_t init) {
  const auto number = [](const std::string& name) {
    struct stat info {};
    return stat(name.c_str(), &info) == 0 ? FileNumber(info.st_dev, info.st_ino) : FileNumber();
  };
  std::set<FileNumber> found;
  const FileNumber own = number("/proc/" + std::to_string(init) + "/ns/mnt");
  sys::Directory list(AT_FDCWD, "/proc");
  while (const dirent* entry = list.Next()) {
    const std::string process = std::string("/proc/") + entry->d_name;
    if (isdigit(static_cast<unsigned char>(entry->d_name[0])) && number(process + "/ns/mnt") == own)
      found.insert(number(process + "/cwd"));
  }
  return found;
}

// Killed at any step it leaves the old directory or the new one, whole, and perhaps what is removed
// when the next one begins.
Outcome<void> CopyRenamed(int view, const std::set<FileNumber>& in_use, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string name = path.substr(slash + 1);
  const std::string passing = above + "/" + kPassing;
  const sys::Fd parent = OpenBelow(view, above);
  struct stat was;
  if (!parent.valid() || fstat(parent.get(), &was) < 0)
    return std::unexpected(Because(errno, path));
  const auto clear = [&] { return sys::RemoveTree(parent.get(), kPassing); };
  if (int error = clear(); error < 0 && error != -ENOENT)
    return std::unexpected(Because(error, path));
  Mirror mirror(view);
  Outcome<void> made = mirror.Make(path, passing);
  // A process that works in one of them would be left in a removed directory.
  for (const FileNumber& each : mirror.directories())
    if (made && in_use.contains(each))
      made = Failed(SpawnStage::kPool, "a process works in it", EBUSY, path);
  if (made && renameat2(parent.get(), kPassing, parent.get(), name.c_str(), RENAME_EXCHANGE) < 0)
    made = std::unexpected(Because(errno, path));
  const int cleared = clear();
  const timespec times[2] = {was.st_atim, was.st_mtim};
  if (made && cleared < 0) made = std::unexpected(Because(cleared, path));
  if (futimens(parent.get(), times) < 0 && made) made = std::unexpected(Because(errno, path));
  return made;
}

}  // namespace cloche::spawn
