#include "change/apply/past.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/clock_trail.h"
#include "change/apply/conflict_text.h"
#include "change/apply/scope.h"
#include "policy/paths.h"
#include "sys/file_times.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

bool IsIn(int directory, const std::string& path) {
  struct stat info;
  if (path.size() < PATH_MAX)
    return fstatat(directory, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  return sys::Fd(sys::OpenOnMount(directory, path.c_str(), O_PATH | O_NOFOLLOW)).valid();
}

}  // namespace

Past::Past(const StateLayout& layout, const Wish& wish, BirthFiles& base, Survey& survey)
    : layout_(layout), wish_(wish), base_(base), survey_(survey) {
  for (const CopiedFile& each : layout.copied) {
    const LayoutSlot& slot = layout.slots.at(each.slot);
    const std::string& target = slot.target;
    // If something in a directory is hidden, overlayfs copied the directory from the mask.
    if (slot.mask >= 0 && IsIn(slot.mask, each.path)) continue;
    copied_[(target == "/" ? "" : target) + "/" + each.path] = each.inode;
  }
  refreshed_.insert(wish.moved.begin(), wish.moved.end());
}

const Promoted* Past::Known(const std::string& path, const struct stat& info) const {
  const auto found = wish_.promoted.find(path);
  if (found == wish_.promoted.end()) return nullptr;
  const Identity& left = found->second.now;
  return left == WithoutTouches(wish_, IdentityOf(info), left.changed_ns) ? &found->second
                                                                          : nullptr;
}

const Promoted* Past::Made(const std::string& path) const {
  const auto found = wish_.promoted.find(path);
  return found != wish_.promoted.end() && found->second.made ? &found->second : nullptr;
}

bool Past::TookAway(const std::string& path) const {
  const auto found = wish_.promoted.find(path);
  return found != wish_.promoted.end() && !found->second.now.exists();
}

// Whether reality has changed it since the sandbox was made, other than by this sandbox's
// promotions.
bool Past::Moved(const std::string& path, const struct stat& info) const {
  const Promoted* known = Known(path, info);
  const bool ours = known && known->changed_ns == 0;
  if (refreshed_.contains(path) && !ours) return true;
  if (known && !known->merged_from.empty()) return true;
  if (!known && Made(path) && !S_ISDIR(info.st_mode)) return true;  // however old it is
  return (known ? known->changed_ns : WithoutTouches(wish_, IdentityOf(info)).changed_ns) >=
         SinceWithClock(wish_.since_ns, BackFor(info));
}

// A file server's lag counts as if our clock had been set back by that much.
int64_t Past::BackFor(const struct stat& info) const {
  const auto lag = wish_.lags_ns.find(info.st_dev);
  return lag == wish_.lags_ns.end() ? 0 : lag->second;
}

std::string Past::WhyUnsure(const walk::LayerFile& place) const {
  if (wish_.clock_back_ns > kMostSetBackNs) return DescribeSetBack(wish_.clock_back_ns);
  const int64_t back_ns = BackFor(place.info);
  if (back_ns <= kMostSetBackNs) return "";
  return fmt::format("the clock of its file server is {} s behind", back_ns / 1'000'000'000);
}

bool Past::CameSince(const walk::LayerFile& place) const {
  return WhyUnsure(place).empty() &&
         BornSince(place, SinceWithClock(wish_.since_ns, BackFor(place.info)));
}

void Past::LookElsewhere(const walk::Entry& entry, const std::optional<walk::LayerFile>& original,
                         Situation& situation) {
  const std::string path = wish_.project + entry.path.substr(wish_.to.size());
  std::optional<BirthFile> known;
  if (!original || !Moved(path, original->info)) {
    known.emplace();
    known->exists = original.has_value();
    known->executable = original && (original->info.st_mode & 0100) != 0;
    std::optional<std::string> text;
    if (original && original->IsFile()) text = ReadText(*original);
    known->clean = text.has_value();
    known->text = std::move(text).value_or("");
  } else if (!refreshed_.contains(path)) {
    known = base_.Find(path);
  }
  if (!entry.before)
    situation.seen = known && !known->exists ? Seen::kNothing : Seen::kGone;
  else if (known && !known->exists)
    situation.seen = Seen::kNothing;
  else
    situation.seen = Seen::kUnknown;
  if (situation.seen == Seen::kUnknown && known && known->clean) SeeText(*known, situation);
}

void Past::SeeText(const BirthFile& file, Situation& situation) {
  situation.seen = Seen::kText;
  situation.base_text = file.text;
  situation.base_exec = file.executable;
}

void Past::Look(const walk::Entry& entry, const std::string& target, Situation& situation) {
  const std::optional<walk::LayerFile>& before = entry.before;
  const std::string& path = entry.path;
  if (before)
    situation.seen =
        Moved(path, before->info) || Swapped(target, path) ? Seen::kUnknown : Seen::kAsNow;
  else
    situation.seen = WasDeleted(path) ? Seen::kGone : Seen::kNothing;
  if (situation.seen == Seen::kAsNow || situation.seen == Seen::kGone) return;
  if (!before && TookAway(path)) return;
  situation.mode_seen = ModeSeen(entry, *situation.change);
  const bool directories =
      (!before || before->IsDirectory()) && (!entry.after || entry.after->IsDirectory());
  // Git's version is older than what this sandbox itself put there.
  const bool newer = Made(path) && !(before && Known(path, before->info));
  const bool asked = !directories && !refreshed_.contains(path) && !newer;
  std::optional<BirthFile> known;
  if (asked) known = base_.Find(path);
  const bool had = asked && base_.Had(path).value_or(false);
  const bool lacked = asked && !base_.Had(path).value_or(true);
  if (!before) {
    if (known && known->exists) situation.seen = Seen::kGone;
    return;
  }
  if (known && known->exists && known->clean) return SeeText(*known, situation);
  // A deleted path existed. If a directory now stands where a file was copied from, the directory
  // did not.
  const bool existed = !entry.after || (known && known->exists) || had || WasThere(path);
  const bool other = before->IsDirectory() && entry.after && !entry.after->IsDirectory();
  // Without recorded names, a file that is new on both sides may have existed and been replaced on
  // both.
  const bool came = before->IsDirectory() ? CameSince(*before) : lacked || known.has_value();
  if (other ? existed : !existed && came) situation.seen = Seen::kNothing;
  // The files in a directory that is to go are decided one by one.
  if (before->IsDirectory() && !entry.after && !WhyUnsure(*before).empty())
    situation.seen = Seen::kAsNow;
  // This sandbox's own promotions change a directory's time, too.
  if (before->IsDirectory() && HoldsPromoted(path) &&
      (!entry.after || !entry.after->IsDirectory() || OnlyEntered(path, before->info)))
    situation.seen = Seen::kAsNow;
}

// Only if the mode is the only difference, and no promotion of this sandbox changed it.
std::optional<uint32_t> Past::ModeSeen(const walk::Entry& entry,
                                       const change::Change& change) const {
  const bool both =
      entry.before && entry.after && entry.before->IsDirectory() && entry.after->IsDirectory();
  const auto was = base_.DirectoryWas(entry.path);
  if (!both || !was || *was != entry.before->info.st_ino || change.differs.owner ||
      change.differs.xattr || refreshed_.contains(entry.path) ||
      wish_.promoted.contains(entry.path))
    return std::nullopt;
  return base_.ModeWas(entry.path);
}

// Nothing is there now, but the sandbox saw something there and did not delete it itself.
bool Past::WasDeleted(const std::string& path) {
  if (TookAway(path)) return false;
  return Made(path) || refreshed_.contains(path) || base_.Had(path).value_or(false) ||
         base_.DirectoryWas(path) || WasThere(path);
}

// Whether only promotions of this sandbox have changed the directory.
bool Past::OnlyEntered(const std::string& path, const struct stat& info) const {
  const auto entered = wish_.entered.find(path);
  if (entered == wish_.entered.end() || !entered->second.only_ours) return false;
  const Identity& left = entered->second.now;
  return left == WithoutTouches(wish_, IdentityOf(info), left.changed_ns);
}

// The sandbox saw something there: overlayfs copied it up from there. A file that was moved here
// was copied up from another path, which is then also part of the change.
bool Past::WasThere(const std::string& path) {
  const auto found = copied_.find(path);
  if (found == copied_.end()) return false;
  if (IsAtOrBelow(wish_.project, TargetOf(layout_, path)) &&
      !base_.HadAnything(path).value_or(true))
    return false;
  if (!origins_) {
    origins_.emplace();
    walk::MergedWalk walk(layout_, walk::Renames::kExpand);
    for (auto entry = walk.Next(); entry && *entry; entry = walk.Next())
      if ((*entry)->before)
        origins_->emplace(
            std::pair(TargetOf(layout_, (*entry)->path), (*entry)->before->info.st_ino),
            (*entry)->path);
  }
  const auto [first, last] = origins_->equal_range({TargetOf(layout_, path), found->second});
  if (first != last)
    return std::all_of(first, last, [&](const auto& each) { return each.second == path; });
  // Its origin is no longer in reality. If an earlier promotion took it away, it was where that
  // promotion found it.
  const auto [taken, end] = wish_.taken.equal_range(found->second);
  return taken == end ||
         std::any_of(taken, end, [&](const auto& each) { return each.second == path; });
}

// A parent directory is not the one the sandbox saw: its files may be old, but are new here.
bool Past::Swapped(const std::string& target, const std::string& path) {
  const std::string parent = path.substr(0, path.find_last_of('/'));
  if (parent.size() <= target.size()) return false;
  const auto found = swapped_.find(parent);
  if (found != swapped_.end()) return found->second;
  bool swapped = Swapped(target, parent);
  const auto now = swapped ? std::nullopt : survey_.Find(target, parent);
  const auto origin = copied_.find(parent);
  const auto entered = wish_.entered.find(parent);
  const auto known = wish_.promoted.find(parent);
  const bool same = now && known != wish_.promoted.end() &&
                    known->second.now.inode == static_cast<uint64_t>(now->info.st_ino);
  if (!now || same) {
    // A promotion created it or set its status.
  } else if (Made(parent) ||
             (IsAtOrBelow(wish_.project, target) && !base_.HadDirectory(parent).value_or(true))) {
    swapped = true;  // mounts within the project are not recorded
  } else if (const auto was = base_.DirectoryWas(parent)) {
    swapped = now->info.st_ino != *was;
  } else if (origin != copied_.end()) {
    swapped = now->info.st_ino != origin->second && WasThere(parent);
  } else if (entered != wish_.entered.end()) {
    swapped = now->info.st_ino != entered->second.now.inode;
  } else if (copied_.empty() && !HoldsPromoted(parent)) {
    // Neither overlayfs nor we recorded it. A rename changes the ctime but not the mtime.
    swapped = sys::Nanos(now->info.st_ctim) >= wish_.since_ns &&
              sys::Nanos(now->info.st_mtim) < wish_.since_ns;
  }
  return swapped_[parent] = swapped;
}

bool Past::HoldsPromoted(const std::string& directory) const {
  const std::string below = directory + "/";
  for (auto each = wish_.promoted.lower_bound(below);
       each != wish_.promoted.end() && each->first.starts_with(below); ++each)
    if (each->second.made || !each->second.now.exists()) return true;
  return false;
}

}  // namespace cloche::apply
