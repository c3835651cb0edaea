#include "spawn/renamed.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sys/copy_tree.h"
#include "sys/directory.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

constexpr const char* kOperation = "copy renamed directory";
// Exists briefly, beside the directory. Anything of this name is removed, so nobody else must use
// it.
constexpr const char* kPassing = ".cloche-renamed-0e5b1c6f9a2d4837";

Failure Because(int error, const std::string& path) {
  return {SpawnStep::kPool, kOperation, error < 0 ? -error : error, path};
}

sys::Fd OpenBelow(int root, const std::string& path) {
  return sys::Fd(sys::OpenOnMount(root, path.c_str(), O_RDONLY | O_DIRECTORY));
}

// Builds a second tree from a first: new directories, and one more name for everything else.
// Linking a file of the base makes overlayfs copy it, whatever its kind.
class Mirror {
 public:
  Mirror(int view, LinkedFiles& linked) : view_(view), linked_(linked) {}

  // In the directory `parent`, which is at `above`.
  OrFailure<void> Make(int parent, const std::string& above, const std::string& from,
                       const std::string& to, const volatile sig_atomic_t& cancelled);
  const std::set<FileNumber>& directories() const { return directories_; }  // of the first tree

 private:
  struct Level {
    std::string path, made;  // below the overlay's root; may exceed the kernel's limit
    sys::Fd from, to;
    std::vector<std::string> names;  // left to do
  };
  struct Step {
    int from, to;  // their parent directories
    std::string from_name, to_name;
  };
  OrFailure<void> Enter(const Step& step, std::string path, std::string made);
  OrFailure<void> Add(const Level& level, const std::string& name);
  int Link(const std::string& first, const Level& level, const std::string& name) const;

  int view_;
  std::vector<std::unique_ptr<Level>> stack_;
  LinkedFiles& linked_;
  std::set<FileNumber> directories_;
};

OrFailure<void> Mirror::Enter(const Step& step, std::string path, std::string made) {
  if (mkdirat(step.to, step.to_name.c_str(), 0700) < 0)
    return std::unexpected(Because(errno, path));
  auto level = std::make_unique<Level>();
  level->from = OpenBelow(step.from, step.from_name);
  level->to = OpenBelow(step.to, step.to_name);
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

OrFailure<void> Mirror::Add(const Level& level, const std::string& name) {
  const std::string path = level.path + "/" + name, made = level.made + "/" + name;
  struct stat info;
  if (fstatat(level.from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0)
    return std::unexpected(Because(errno, path));
  if (S_ISDIR(info.st_mode))
    return Enter({level.from.get(), level.to.get(), name, name}, path, made);
  std::string first = made;
  if (S_ISREG(info.st_mode) && info.st_nlink > 1)
    first = linked_.emplace(FileNumber(info.st_dev, info.st_ino), made).first->second;
  const int error = first != made ? Link(first, level, name)
                    : linkat(level.from.get(), name.c_str(), level.to.get(), name.c_str(), 0) < 0
                        ? -errno
                        : 0;
  if (error < 0) return std::unexpected(Because(error, path));
  return {};
}

int Mirror::Link(const std::string& first, const Level& level, const std::string& name) const {
  const size_t slash = first.rfind('/');
  const sys::Fd parent = OpenBelow(view_, first.substr(0, slash));
  if (!parent.valid()) return parent.get();
  const std::string last = first.substr(slash + 1);
  return linkat(parent.get(), last.c_str(), level.to.get(), name.c_str(), 0) < 0 ? -errno : 0;
}

OrFailure<void> Mirror::Make(int parent, const std::string& above, const std::string& from,
                             const std::string& to, const volatile sig_atomic_t& cancelled) {
  const Step first{parent, parent, from, to};
  if (auto entered = Enter(first, above + "/" + from, above + "/" + to); !entered) return entered;
  while (!stack_.empty()) {
    if (cancelled != 0) return Failed(SpawnStep::kPool, kOperation, ECANCELED, from);
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
      // If something in it is hidden, it was copied from the mask, which is made anew.
      const bool hides = where.mask >= 0 && OpenBelow(fd(where.mask), path).valid();
      if (!each.lost && !hides && each.origin != 0) each.lost = info.st_ino != each.origin;
    }
  }
}

std::vector<std::string> DependentOnBase(const StateLayout& layout, uint32_t slot,
                                         const std::vector<std::string>& asked) {
  const std::string& target = layout.slots[slot].target;
  const SpecialDirectories special = SpecialOf(layout, slot, false);
  const auto overlaps = [&](const std::string& below) {
    const std::string path = (target == "/" ? "" : target) + "/" + below;
    return asked.empty() || std::ranges::any_of(asked, [&](const std::string& each) {
             return (path + "/").starts_with(each == "/" ? each : each + "/") ||
                    (each + "/").starts_with(path + "/");
           });
  };
  std::vector<std::string> paths;
  for (const auto& [path, each] : special)
    if (!each->redirect.empty() && !each->lost &&
        (overlaps(path) || overlaps(BasePathOf(special, path))))
      paths.push_back(path);
  std::ranges::sort(paths);  // a directory comes before what is below it
  return paths;
}

bool DependsOnBase(const StateLayout& layout, const std::vector<std::string>& asked) {
  for (uint32_t slot = 0; slot < layout.slots.size(); ++slot)
    if (!DependentOnBase(layout, slot, asked).empty()) return true;
  return false;
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

// Killed at any step, it leaves the complete old directory or the complete new one, and possibly
// leftovers that the next run removes.
OrFailure<void> CopyRenamed(int view, const std::set<FileNumber>& in_use, const std::string& path,
                            LinkedFiles& linked, const volatile sig_atomic_t& cancelled) {
  const size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string name = path.substr(slash + 1);
  const sys::Fd parent = OpenBelow(view, above);
  struct stat was;
  if (!parent.valid() || fstat(parent.get(), &was) < 0)
    return std::unexpected(Because(errno, path));
  const auto clear = [&] { return sys::RemoveTree(parent.get(), kPassing); };
  if (int error = clear(); error < 0 && error != -ENOENT)
    return std::unexpected(Because(error, path));
  LinkedFiles now = linked;
  Mirror mirror(view, now);
  OrFailure<void> made = mirror.Make(parent.get(), above, name, kPassing, cancelled);
  // A process working in one of them would be left in a removed directory.
  for (const FileNumber& each : mirror.directories())
    if (made && in_use.contains(each))
      made = Failed(SpawnStep::kPool, "a process works in it", EBUSY, path);
  if (made && renameat2(parent.get(), kPassing, parent.get(), name.c_str(), RENAME_EXCHANGE) < 0)
    made = std::unexpected(Because(errno, path));
  // Entries made just now have reached their final place.
  const std::string passing = above + "/" + kPassing + "/", place = above + "/" + name + "/";
  for (auto& [number, first] : now)
    if (first.starts_with(passing)) first = place + first.substr(passing.size());
  if (made) linked = std::move(now);
  const int cleared = clear();
  const timespec times[2] = {was.st_atim, was.st_mtim};
  if (made && cleared < 0) made = std::unexpected(Because(cleared, path));
  if (futimens(parent.get(), times) < 0 && made) made = std::unexpected(Because(errno, path));
  return made;
}

}  // namespace cloche::spawn
