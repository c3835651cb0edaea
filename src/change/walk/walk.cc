#include "change/walk/walk.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "base/path_bounds.h"
#include "base/repairs_name.h"
#include "base/text.h"
#include "sys/directory.h"

namespace cloche::walk {
namespace {

SharedFd Duplicate(int fd) {
  if (fd < 0) return nullptr;
  sys::Fd copy(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return copy.valid() ? std::make_shared<const sys::Fd>(std::move(copy)) : nullptr;
}

std::string Join(const std::string& parent, const std::string& name) {
  return parent.empty() ? name : parent + "/" + name;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void Unreadable::Add(std::string path) {
  if (std::ranges::find(paths, path) != paths.end()) return;  // visited twice
  ++count;
  if (paths.size() < kMostPaths) paths.push_back(std::move(path));
}

void Unreadable::Add(const Unreadable& others) {
  const uint64_t unnamed = others.count - others.paths.size();
  for (const std::string& path : others.paths) Add(path);
  count += unnamed;
}

SlotWalk::SlotWalk(const StateLayout& layout, uint32_t slot, bool of_other, Renames renames)
    : layout_(layout), slot_(layout.slots[slot]), of_other_(of_other), renames_(renames) {
  const std::string prefix = slot_.target == "/" ? "/" : slot_.target + "/";
  for (const LayoutSlot& other : layout.slots)
    if (&other != &slot_ && other.target.starts_with(prefix))
      covered_.insert(other.target.substr(prefix.size()));
  special_ = SpecialOf(layout, slot, of_other);
  const auto top = special_.find("");
  blank_ = top != special_.end() && top->second->opaque;
  Frame root;
  root.upper = Duplicate(of_other ? slot_.other : slot_.state);
  root.before = LowerAt("");
  if (!blank_) root.origin = root.before;
  root.same = !blank_;
  for (const auto& [path, special] : special_)
    if (Redirected(path)) moved_[BasePathOf(path)] = path;
  DecideRenames();
  if (root.upper) stack_.push_back(std::move(root));
  if (!stack_.empty()) Prepare(stack_.back());
}

std::string SlotWalk::Absolute(const std::string& path) const {
  if (path.empty()) return slot_.target;
  return (slot_.target == "/" ? "" : slot_.target) + "/" + path;
}

bool SlotWalk::Covered(const std::string& path) const { return covered_.contains(path); }

bool SlotWalk::IsServiceData(const std::string& path) const {
  return blank_ || std::ranges::any_of(layout_.service_data, [&](const std::string& data) {
           return Absolute(path).starts_with(data + "/");
         });
}

std::string SlotWalk::BasePathOf(const std::string& path) const {
  return cloche::BasePathOf(special_, path);
}

SlotWalk::Lower SlotWalk::LowerAt(const std::string& path) const {
  Lower lower{Duplicate(slot_.base), Duplicate(slot_.mask), ""};
  // Without its mask, a base would show hidden files: show nothing of it.
  if (!lower.directory || (slot_.mask >= 0 && !lower.mask)) {
    unreadable_.Add(slot_.target);
    return {};
  }
  for (size_t at = 0; at < path.size() && lower.valid();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    lower = Enter(lower, name, Child(lower, name));
    at = end + 1;
  }
  return lower;
}

// A mask lies between the base and the upper; if it puts something in a name's place, that counts.
SlotWalk::Shown SlotWalk::Child(const Lower& lower, const std::string& name) const {
  if (blank_ && lower.path.empty() && name == kRepairsName) return {};  // never copied
  auto mask = FindFile(lower.mask, name);
  if (mask && mask->IsWhiteout()) return {};
  if (mask && !mask->IsDirectory()) return {std::move(mask), std::nullopt};
  auto place = FindFile(lower.directory, name);
  // An overlay does not show mounts in its base, but does show btrfs subvolumes, so the device
  // number cannot distinguish them.
  if (place && place->mount_root) return {std::nullopt, std::move(mask)};
  return {std::move(place), std::move(mask)};
}

SlotWalk::Lower SlotWalk::Enter(const Lower& lower, const std::string& name,
                                const Shown& child) const {
  if (!child.place || !child.place->IsDirectory()) return {};
  Lower inside;
  inside.directory = OpenDirectory(*child.place);
  inside.path = Join(lower.path, name);
  if (child.mask) inside.mask = OpenDirectory(*child.mask);
  if (child.mask && !inside.mask) inside.directory = nullptr;  // otherwise hidden files would show
  if (!inside.directory) unreadable_.Add(Absolute(inside.path));
  return inside;
}

// A rename is reported as one only if nothing in the base had to make way for it, except for
// something reported as a rename itself, and if the enclosing directory's rename is reported.
// Renames depend on each other, even in cycles: report all except those that cannot be, and those
// that depend on them.
void SlotWalk::DecideRenames() {
  if (renames_ == Renames::kExpand) return;
  std::unordered_map<std::string, std::vector<std::string>> hang_on;
  std::vector<std::string> untold;
  for (const auto& [base_path, path] : moved_) {
    // The parent directory shows the old entry, wherever in the base that directory came from.
    const std::string place = Join(BasePathOf(ParentOf(path)), NameOf(path));
    const bool there = Child(LowerAt(ParentOf(place)), NameOf(path)).place.has_value();
    const auto made_way = moved_.find(place);
    bool told = !there;
    if (renames_ == Renames::kFiles) {
      told = told && !Taken(base_path);
    } else if (there && made_way != moved_.end()) {
      hang_on[made_way->second].push_back(path);
      told = true;
    }
    std::string above = ParentOf(path);
    while (!above.empty() && !Redirected(above)) above = ParentOf(above);
    const auto above_moved = moved_.find(BasePathOf(above));
    if (!above.empty()) hang_on[above].push_back(path);
    if (!above.empty() && (above_moved == moved_.end() || above_moved->second != above))
      told = false;
    if (told)
      told_.insert(path);
    else
      untold.push_back(path);
  }
  while (!untold.empty()) {
    const std::string path = std::move(untold.back());
    untold.pop_back();
    for (const std::string& each : hang_on[path])
      if (told_.erase(each) > 0) untold.push_back(each);
  }
}

// A directory that was moved back is where it was.
bool SlotWalk::Redirected(const std::string& path) const {
  const auto special = special_.find(path);
  return special != special_.end() && !special->second->redirect.empty() &&
         BasePathOf(path) != path;
}

bool SlotWalk::Taken(const std::string& path) const {
  SharedFd directory = Duplicate(of_other_ ? slot_.other : slot_.state);
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const auto place = FindFile(directory, path.substr(at, end - at));
    if (!place || place->IsWhiteout()) return false;
    const auto special = special_.find(path.substr(0, end));
    const bool moved_here = special != special_.end() && !special->second->redirect.empty();
    if (moved_here || !place->IsDirectory()) return true;
    directory = OpenDirectory(*place);
    at = end + 1;
  }
  return true;
}

bool SlotWalk::MovedAway(const std::string& base_path) const {
  const auto found = moved_.find(base_path);
  return found != moved_.end() && told_.contains(found->second);
}

void SlotWalk::AddNames(Frame& frame, const SharedFd& directory) {
  if (!directory) return;
  sys::Directory list(directory->get(), ".");
  while (const dirent* entry = list.Next()) frame.events.emplace(entry->d_name, entry->d_name);
  if (list.error() != 0) unreadable_.Add(Absolute(frame.path));
}

void SlotWalk::Prepare(Frame& frame) {
  AddNames(frame, frame.upper);
  if (!frame.same && !frame.lost) {
    AddNames(frame, frame.before.directory);
    AddNames(frame, frame.before.mask);
  }
  if (!frame.same || (frame.renamed && renames_ == Renames::kFiles)) {
    AddNames(frame, frame.origin.directory);
    AddNames(frame, frame.origin.mask);
  }
}

Result<std::optional<Entry>> SlotWalk::Visit(Frame& frame, const std::string& name) {
  const std::string path = Join(frame.path, name);
  if (Covered(path)) return std::nullopt;
  const Shown before = Child(frame.before, name);
  const Shown origin = frame.same ? before : Child(frame.origin, name);
  Entry entry{Absolute(path), "", before.place, FindFile(frame.upper, name),
              frame.renamed && renames_ == Renames::kBrief};
  const bool in_upper = entry.after.has_value();
  if (in_upper && entry.after->IsWhiteout()) {
    entry.after.reset();
  } else if (!in_upper) {
    entry.after = origin.place;
  }
  entry.unseen = (frame.upper || frame.unseen) && entry.before && !in_upper && !entry.after;
  // The copy of a service's data has no sockets, so a missing socket is not a deletion.
  const bool socket = entry.before && S_ISSOCK(entry.before->info.st_mode);
  if (socket && !entry.after && IsServiceData(path)) return std::nullopt;
  if (entry.before && MovedAway(Join(frame.before.path, name))) entry.before.reset();
  if (frame.renamed && entry.before) entry.old_path = Absolute(Join(frame.before.path, name));

  Frame child;
  child.path = path;
  child.unseen = entry.unseen;
  const auto special = special_.find(path);
  const bool own_directory = in_upper && entry.after && entry.after->IsDirectory();
  const bool redirected = own_directory && Redirected(path);
  const bool opaque = own_directory && special != special_.end() && special->second->opaque;
  if (own_directory) child.upper = OpenDirectory(*entry.after);
  if (own_directory && !child.upper) unreadable_.Add(entry.path);
  if (redirected) child.origin = LowerAt(BasePathOf(path));
  // Its origin has gone from the base, so missing entries were not deleted inside.
  const bool origin_gone = redirected && (special->second->lost || !child.origin.valid());
  if (origin_gone) child.origin = {};
  child.lost = origin_gone || (frame.lost && !redirected && !opaque);
  if (!redirected && entry.after && entry.after->IsDirectory() && !opaque)
    child.origin = Enter(frame.origin, name, origin);
  if (redirected && !origin_gone && told_.contains(path)) {
    child.before = child.origin;
    child.renamed = true;
    entry.before = Child(LowerAt(ParentOf(child.origin.path)), NameOf(child.origin.path)).place;
    entry.old_path = Absolute(child.origin.path);
    entry.implied = false;
  } else {
    const bool shared = frame.same && !redirected && child.origin.valid();
    if (entry.before && entry.before->IsDirectory())
      child.before = shared ? child.origin : Enter(frame.before, name, before);
    child.same = shared && child.before.valid();
    child.renamed = frame.renamed && child.before.valid();
  }
  const bool enter = child.upper ||
                     (!child.same && (child.before.valid() || child.origin.valid())) ||
                     (child.renamed && renames_ == Renames::kFiles);
  // cloche-spawn reports nothing from deeper levels.
  const bool too_deep = enter && IsTooDeep(path);
  if (too_deep) unreadable_.Add(entry.path);
  if (enter && !too_deep) {
    frame.events.emplace(name + "/", name);
    frame.children.emplace(name, std::move(child));
  }
  if (!entry.before && !entry.after) return std::nullopt;
  return entry;
}

Result<std::optional<Entry>> SlotWalk::Next() {
  if (!begun_ && !stack_.empty()) {
    begun_ = true;
    const Frame& root = stack_.back();
    Entry entry{slot_.target, "", FindFile(root.before.directory, "."), FindFile(root.upper, ".")};
    entry.top = true;
    if (entry.before && entry.after) return entry;
  }
  while (!stack_.empty()) {
    Frame& frame = stack_.back();
    if (frame.events.empty()) {
      stack_.pop_back();
      continue;
    }
    const auto event = frame.events.begin();
    const std::string name = event->second;
    const bool enter = event->first.ends_with('/');
    frame.events.erase(event);
    if (enter) {
      auto node = frame.children.extract(name);
      stack_.push_back(std::move(node.mapped()));
      Prepare(stack_.back());
      continue;
    }
    auto entry = Visit(frame, name);
    if (!entry || *entry) return entry;
  }
  return std::nullopt;
}

}  // namespace cloche::walk
