#include "promoter/plan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "diff/digest.h"
#include "differ/compare.h"
#include "promote/credentials.h"
#include "promote/merge3.h"
#include "promote/triggers.h"
#include "promoter/rules.h"
#include "promoter/sides.h"
#include "promoter/survey.h"
#include "promoter/verdict.h"

namespace cloche::promoter {
namespace {

bool IsAtOrBelow(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory ||
         (path.size() > directory.size() && path.starts_with(directory) &&
          path[directory.size()] == '/');
}

bool Covers(const std::vector<std::string>& directories, const std::string& path) {
  return std::ranges::any_of(directories,
                             [&](const std::string& each) { return IsAtOrBelow(path, each); });
}

bool Asked(const Wish& wish, const std::string& path) {
  if (Covers(wish.exclude, path) || std::ranges::find(wish.leave, path) != wish.leave.end())
    return false;
  if (!wish.to.empty() && !IsAtOrBelow(path, wish.project)) return false;
  return wish.paths.empty() || Covers(wish.paths, path);
}

// The innermost overlay a path is in.
std::string TargetOf(const StateLayout& layout, const std::string& path) {
  std::string found;
  for (const LayoutSlot& slot : layout.slots)
    if (IsAtOrBelow(path, slot.target) && slot.target.size() >= found.size()) found = slot.target;
  return found;
}

std::optional<promote::Version> VersionOf(const std::optional<diff::Side>& side,
                                          const std::string& text) {
  if (!side) return std::nullopt;
  promote::Version version{side->type, side->mode, std::nullopt};
  if (side->type == diff::FileType::kSymlink) version.content = side->target;
  // What was too large to be kept is not there.
  if (side->type == diff::FileType::kFile && text.size() == side->size) version.content = text;
  return version;
}

void FindAlarms(const differ::Compared& compared, const Wish& wish, Plan& plan) {
  const diff::Change& change = compared.change;
  promote::FileChange file;
  file.path = change.path;
  file.before = VersionOf(change.old_side, compared.old_text);
  file.after = VersionOf(change.new_side, compared.new_text);
  file.same_content = change.old_side && change.new_side && !change.differs.content &&
                      !change.differs.type && !change.differs.target;
  const promote::Roots roots{wish.to.empty() ? wish.project : wish.to, wish.home};
  for (promote::Trigger& each : promote::FindTriggers(file, roots)) {
    Alarm alarm{change.path, std::string(each.id), std::string(each.reason),
                each.severity == promote::Severity::kAlarm, std::move(each.effective)};
    if (each.left_out > 0) alarm.effective.push_back(fmt::format("... {} more", each.left_out));
    plan.alarms.push_back(std::move(alarm));
  }
  if (!file.after || file.after->type != diff::FileType::kFile || !file.after->content) return;
  std::optional<std::string_view> before;
  if (file.before) before = file.before->content;
  for (const promote::Credential& each :
       promote::FindCredentials(change.path, before, *file.after->content))
    plan.alarms.push_back(
        {change.path,
         "credential",
         fmt::format("it holds a {}: secrets do not belong into files", each.kind),
         true,
         {fmt::format("line {}: {}", each.line, each.masked)}});
}

void CheckNewSide(const Wish& wish, diff::Change& change, Plan& plan) {
  diff::Side& side = *change.new_side;
  const std::string shown = change.path;
  if (side.type == diff::FileType::kFile && !side.sha256) {
    plan.conflicts.push_back({.path = shown,
                              .reason = "it cannot be read, or is too large to be checked",
                              .cure = "leave it out: --exclude " + shown});
    return;
  }
  if (side.type != diff::FileType::kSymlink && (side.mode & 06000) != 0) {
    // A directory that hands its group down is no privilege.
    const uint32_t dropped = side.type == diff::FileType::kDirectory ? 04000u : 06000u;
    if ((side.mode & dropped) != 0) {
      side.mode &= ~dropped;
      plan.notes.push_back(shown + ": its set-user-ID and set-group-ID bits are left out");
    }
  }
  for (auto each = side.xattrs.begin(); each != side.xattrs.end();) {
    const bool kept = IsTakenOver(each->first);
    if (!kept) plan.notes.push_back(shown + ": its attribute " + each->first + " is left out");
    each = kept ? std::next(each) : side.xattrs.erase(each);
  }
  const bool own = side.uid == wish.uid;
  if (!wish.root && !wish.one_owner && !own &&
      !(change.old_side && change.old_side->uid == side.uid && change.old_side->gid == side.gid))
    plan.notes.push_back(fmt::format("{}: it will be yours, not user {}'s", shown, side.uid));
  if (!wish.root && !wish.one_owner && side.gid != wish.gid &&
      std::ranges::find(wish.groups, side.gid) == wish.groups.end())
    plan.notes.push_back(
        fmt::format("{}: it will be of your group, not group {}", shown, side.gid));
}

int64_t Nanos(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

constexpr const char* kMerged = "merged";  // and can be again

std::string HashOf(const diff::Change& change) {
  return change.new_side->sha256 ? diff::ToHex(*change.new_side->sha256) : kMerged;
}

// One walk over what the sandbox changed, a decision for each path.
class Planner {
 public:
  Planner(const StateLayout& layout, const Wish& wish, Base& base)
      : layout_(layout), wish_(wish), base_(base) {
    for (const CopiedFile& each : layout.copied) {
      const LayoutSlot& slot = layout.slots.at(each.slot);
      const std::string& target = slot.target;
      // A directory in which something is hidden was copied from what hides it.
      struct stat info;
      if (slot.mask >= 0 && fstatat(slot.mask, each.path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
        continue;
      copied_[(target == "/" ? "" : target) + "/" + each.path] = each.inode;
    }
    refreshed_.insert(wish.moved.begin(), wish.moved.end());
    options_.one_owner = wish.one_owner;
    options_.texts = options_.lines = true;
  }

  Result<Plan> Run();

 private:
  Status Take(differ::Entry entry);
  Status Want(differ::Compared compared, const differ::Entry& entry, const std::string& target,
              std::optional<std::string> text, std::string merged_from);
  void Look(const differ::Entry& entry, const std::string& target, Situation& situation);
  void LookElsewhere(const differ::Entry& entry, const std::optional<differ::Place>& original,
                     Situation& situation);
  static void SeeText(const BaseFile& file, Situation& situation);
  void Refuse(const promote::Case& which, const Situation& situation,
              const std::string& merged = "");
  void KeepTexts(const std::string& path, Texts texts);
  bool MadeHere(const std::string& path) const;
  bool WasThere(const std::string& path);
  bool Swapped(const std::string& target, const std::string& path);
  bool HoldsPromoted(const std::string& directory) const;
  const Promoted* Known(const std::string& path, const struct stat& info) const;
  bool Moved(const std::string& path, const struct stat& info) const;
  Status CheckReadable(const differ::Unreadable& unreadable) const;
  void CheckNames();

  const StateLayout& layout_;
  const Wish& wish_;
  Base& base_;
  differ::CompareOptions options_;
  Survey survey_;
  std::unordered_map<std::string, uint64_t> copied_;                       // from which inode
  std::optional<std::unordered_multimap<uint64_t, std::string>> origins_;  // inodes of the change
  std::unordered_map<std::string, bool> swapped_;                          // directories
  std::unordered_set<std::string> removed_;                                // directories
  std::unordered_set<std::string> refreshed_;  // both sides had changed it when it was refreshed
  std::unordered_set<std::string> made_;       // directories
  struct Link {
    size_t wanted;
    uint64_t names;
  };
  std::vector<Link> links_;
  size_t texts_kept_ = 0;
  Plan plan_;
  diff::ChangeSetDigest digest_;
  bool whole_ = true;
};

// What a promotion left there, if nobody has changed it since.
const Promoted* Planner::Known(const std::string& path, const struct stat& info) const {
  const auto found = wish_.promoted.find(path);
  return found != wish_.promoted.end() && found->second.now == IdentityOf(info) ? &found->second
                                                                                : nullptr;
}

// Reality has changed it since the sandbox was made, and not by what came from there.
bool Planner::Moved(const std::string& path, const struct stat& info) const {
  if (refreshed_.contains(path)) return true;
  const Promoted* known = Known(path, info);
  if (known && !known->merged_from.empty()) return true;
  return (known ? known->changed_ns : IdentityOf(info).changed_ns) >= wish_.since_ns;
}

// Below a directory that this promotion makes there is nothing yet.
bool Planner::MadeHere(const std::string& path) const {
  return made_.contains(path.substr(0, path.find_last_of('/')));
}

// With --to the sandbox never saw what is there. What it saw is what the project has, or had.
void Planner::LookElsewhere(const differ::Entry& entry,
                            const std::optional<differ::Place>& original, Situation& situation) {
  const std::string path = wish_.project + entry.path.substr(wish_.to.size());
  std::optional<BaseFile> known;
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

void Planner::SeeText(const BaseFile& file, Situation& situation) {
  situation.seen = Seen::kText;
  situation.base_text = file.text;
  situation.base_exec = file.executable;
}

// What was there when the sandbox was made.
void Planner::Look(const differ::Entry& entry, const std::string& target, Situation& situation) {
  const std::optional<differ::Place>& before = entry.before;
  const std::string& path = entry.path;
  if (before)
    situation.seen =
        Moved(path, before->info) || Swapped(target, path) ? Seen::kUnknown : Seen::kAsNow;
  else
    situation.seen = WasThere(path) ? Seen::kGone : Seen::kNothing;
  if (situation.seen == Seen::kAsNow || situation.seen == Seen::kGone) return;
  const bool directories =
      (!before || before->IsDirectory()) && (!entry.after || entry.after->IsDirectory());
  std::optional<BaseFile> known;
  if (!directories && !refreshed_.contains(path)) known = base_.Find(path);
  if (!before) {
    if (known && known->exists) situation.seen = Seen::kGone;
    return;
  }
  if (known && known->exists && known->clean) return SeeText(*known, situation);
  // Whatever was deleted, it was there. A directory that is now where a file was copied from was
  // not.
  const bool existed = !entry.after || (known && known->exists) || WasThere(path);
  const bool other = before->IsDirectory() && entry.after && !entry.after->IsDirectory();
  if (other ? existed : !existed && (known || BornSince(*before, wish_.since_ns)))
    situation.seen = Seen::kNothing;
  // Names that came from the sandbox itself change a directory's time, too.
  if (before->IsDirectory() && HoldsPromoted(path)) situation.seen = Seen::kAsNow;
}

// The sandbox saw something there: it was copied from there to be changed, and not moved here from
// another place, which then is part of the change.
bool Planner::WasThere(const std::string& path) {
  const auto found = copied_.find(path);
  if (found == copied_.end()) return false;
  if (!origins_) {
    origins_.emplace();
    differ::MergedWalk walk(layout_, differ::Renames::kExpand);
    for (auto entry = walk.Next(); entry && *entry; entry = walk.Next())
      if ((*entry)->before) origins_->emplace((*entry)->before->info.st_ino, (*entry)->path);
  }
  const auto [first, last] = origins_->equal_range(found->second);
  return std::all_of(first, last, [&](const auto& each) { return each.second == path; });
}

// A directory above it is another than the sandbox saw: what is in it may be old, and yet is new.
bool Planner::Swapped(const std::string& target, const std::string& path) {
  const std::string parent = path.substr(0, path.find_last_of('/'));
  if (parent.size() <= target.size()) return false;
  const auto found = swapped_.find(parent);
  if (found != swapped_.end()) return found->second;
  bool swapped = Swapped(target, parent);
  const auto now = swapped || HoldsPromoted(parent) ? std::nullopt : survey_.Find(target, parent);
  const auto origin = copied_.find(parent);
  if (now && origin != copied_.end()) {
    swapped = now->info.st_ino != origin->second && WasThere(parent);
  } else if (now && copied_.empty()) {
    // Without overlayfs's notes: a rename changes the one time and not the other.
    swapped =
        Nanos(now->info.st_ctim) >= wish_.since_ns && Nanos(now->info.st_mtim) < wish_.since_ns;
  }
  return swapped_[parent] = swapped;
}

// Has an earlier promotion put something there?
bool Planner::HoldsPromoted(const std::string& directory) const {
  const auto first = wish_.promoted.lower_bound(directory + "/");
  return first != wish_.promoted.end() && first->first.starts_with(directory + "/");
}

void Planner::KeepTexts(const std::string& path, Texts texts) {
  if (!wish_.with_texts) return;
  const size_t size = texts.ours.size() + texts.theirs.size() + texts.merged.size() +
                      (texts.base ? texts.base->size() : 0);
  if (texts_kept_ + size > kMostTexts) return;
  texts_kept_ += size;
  plan_.texts[path] = std::move(texts);
}

void Planner::Refuse(const promote::Case& which, const Situation& situation,
                     const std::string& merged) {
  const std::string& path = situation.change->path;
  const bool choose = which.verdict != promote::Verdict::kRefuse;
  std::vector<std::string> shown = ConflictLines(merged);
  if (shown.empty() && choose && situation.texts)
    shown = DifferingLines(situation.ours, situation.theirs);
  if (choose && situation.texts)
    KeepTexts(path,
              {situation.ours, situation.theirs,
               situation.seen == Seen::kText ? std::optional(situation.base_text) : std::nullopt,
               merged});
  plan_.conflicts.push_back({path, promote::Sentence(which),
                             std::string(promote::Cure(which.reason)), which.tag, choose,
                             std::move(shown)});
}

Status Planner::Take(differ::Entry entry) {
  if (!Asked(wish_, entry.path)) return {};
  std::string target = TargetOf(layout_, entry.path);
  if (entry.path == target) return {};  // the top of an overlay: the time of a mount's root
  const std::optional<differ::Place> original = entry.before;
  const std::string inside = entry.path;
  if (!wish_.to.empty()) {
    entry.path = wish_.to + entry.path.substr(wish_.project.size());
    if (entry.path == wish_.to || Covers(wish_.exclude, entry.path) ||
        std::ranges::find(wish_.leave, entry.path) != wish_.leave.end())
      return {};
    target = wish_.to;
    entry.before = survey_.Find(target, entry.path);
  }
  if (!entry.before && !entry.after) return {};
  ASSIGN_OR_RETURN(std::optional<differ::Compared> compared, differ::CompareEntry(entry, options_));
  if (!compared) return {};
  const diff::Change& change = compared->change;
  // What was merged is not merged again until the sandbox changes its own.
  const Promoted* known = entry.before ? Known(entry.path, entry.before->info) : nullptr;
  if (known && change.new_side && change.new_side->sha256 &&
      known->merged_from == diff::ToHex(*change.new_side->sha256))
    return {};
  Situation situation;
  situation.change = &change;
  const auto whole = [](const std::optional<diff::Side>& side, const std::string& text) {
    return side && side->type == diff::FileType::kFile && side->size == text.size();
  };
  situation.texts =
      whole(change.old_side, compared->old_text) && whole(change.new_side, compared->new_text);
  situation.ours = compared->old_text;
  situation.theirs = compared->new_text;
  if (wish_.to.empty())
    Look(entry, target, situation);
  else
    LookElsewhere(entry, original, situation);
  if (!MadeHere(entry.path)) situation.obstacle = survey_.Obstacle(target, entry.path);
  std::optional<promote::Incoming> incoming = IncomingOf(situation);
  if (!incoming) return {};
  // Whoever owns a directory may change it, wherever it is.
  if (*incoming == promote::Incoming::kDirectoryMetadata &&
      situation.obstacle == promote::Real::kUnwritable)
    situation.obstacle.reset();
  if (*incoming == promote::Incoming::kDeleteDirectory) removed_.insert(entry.path);
  promote::Real real = RealOf(situation, *incoming);
  // Of a directory that shall go, what came to it since is nobody's to delete.
  if (*incoming == promote::Incoming::kDelete && real == promote::Real::kEdited &&
      removed_.contains(entry.path.substr(0, entry.path.find_last_of('/'))) &&
      BornSince(*entry.before, wish_.since_ns)) {
    incoming = promote::Incoming::kDeleteDirectory;
    real = promote::Real::kNotEmpty;
  }
  const promote::Case& which = promote::Decide(*incoming, real);
  // With --to it has two names.
  const auto covered = [&](const std::vector<std::string>& directories) {
    return Covers(directories, entry.path) || Covers(directories, inside);
  };
  const auto chosen = wish_.texts.find(entry.path);
  std::optional<std::string> text;
  std::string merged_from;
  if (chosen != wish_.texts.end() && change.new_side &&
      change.new_side->type == diff::FileType::kFile)
    text = chosen->second;
  switch (which.verdict) {
    case promote::Verdict::kSkip:
      return {};
    case promote::Verdict::kApply:
      break;
    case promote::Verdict::kMerge: {
      if (covered(wish_.keep_ours)) return {};
      if (covered(wish_.take_theirs)) break;
      auto merged = promote::MergeTexts(situation.base_text, situation.ours, situation.theirs,
                                        {"reality", "sandbox"});
      if (merged && merged->Clean()) {
        merged_from = kMerged;
        plan_.merged.push_back(entry.path);
        if (!text) text = std::move(merged->text);
      } else if (text) {
        merged_from = HashOf(change);
      } else {
        const promote::Case& edited = promote::Decide(*incoming, promote::Real::kEdited);
        Refuse(edited, situation, merged ? merged->text : "");
        return {};
      }
      break;
    }
    case promote::Verdict::kConflict: {
      if (covered(wish_.keep_ours)) return {};
      const bool both = which.reason == promote::Reason::kBothChanged;
      const bool theirs =
          covered(wish_.take_theirs) && (both || which.reason == promote::Reason::kGone);
      if (theirs || (both && text)) {
        if (text) merged_from = HashOf(change);
        break;
      }
      Refuse(which, situation);
      return {};
    }
    case promote::Verdict::kRefuse:
      Refuse(which, situation);
      return {};
  }
  if (text && situation.texts && *text == situation.ours && !change.differs.mode &&
      !change.differs.xattr && !change.differs.owner) {
    if (!plan_.merged.empty() && plan_.merged.back() == entry.path) plan_.merged.pop_back();
    return {};
  }
  if (*incoming == promote::Incoming::kLink && entry.before && entry.before->info.st_nlink > 1 &&
      !covered(wish_.take_theirs))
    links_.push_back({plan_.wanted.size(), entry.before->info.st_nlink});
  return Want(std::move(*compared), entry, target, std::move(text), std::move(merged_from));
}

Status Planner::Want(differ::Compared compared, const differ::Entry& entry,
                     const std::string& target, std::optional<std::string> text,
                     std::string merged_from) {
  if (text) {
    compared.change.new_side->hard_link.reset();
    SetText(compared.change, compared.old_text, *text);
    compared.new_text = *text;
  }
  diff::Change& change = compared.change;
  const auto is_directory = [](const std::optional<diff::Side>& side) {
    return side && side->type == diff::FileType::kDirectory;
  };
  if (is_directory(change.new_side) && !is_directory(change.old_side)) made_.insert(change.path);
  FindAlarms(compared, wish_, plan_);
  if (change.old_side && change.new_side && change.differs.content && !change.binary)
    KeepTexts(change.path, {compared.old_text, compared.new_text, std::nullopt, ""});
  if (change.new_side && change.new_side->type == diff::FileType::kFile && !change.new_side->sha256)
    whole_ = false;
  else
    CLOCHE_TRY(digest_.Add(change));
  if (change.new_side) CheckNewSide(wish_, change, plan_);
  Wanted wanted{std::move(change),
                entry.after,
                std::move(text),
                entry.before ? IdentityOf(entry.before->info) : Identity(),
                target,
                std::move(merged_from),
                0,
                ""};
  wanted.before_changed_ns = wanted.before.changed_ns;
  if (const Promoted* known = entry.before ? Known(entry.path, entry.before->info) : nullptr) {
    wanted.before_changed_ns = known->changed_ns;
    wanted.before_merged_from = known->merged_from;
  }
  plan_.wanted.push_back(std::move(wanted));
  return {};
}

// A file that gets another set of names must not have more than the change knows of.
void Planner::CheckNames() {
  std::map<uint64_t, uint64_t> known;
  for (const Link& link : links_) known[plan_.wanted[link.wanted].before.inode] = 0;
  if (known.empty()) return;
  for (const Wanted& each : plan_.wanted)
    if (const auto found = known.find(each.before.inode); found != known.end()) ++found->second;
  const promote::Case& which = promote::Decide(promote::Incoming::kLink, promote::Real::kLinked);
  for (const Link& link : links_) {
    const Wanted& wanted = plan_.wanted[link.wanted];
    Situation situation;
    situation.change = &wanted.change;
    if (known[wanted.before.inode] < link.names) Refuse(which, situation);
  }
}

// What was not asked for may be closed.
Status Planner::CheckReadable(const differ::Unreadable& unreadable) const {
  const auto asked = [&](const std::string& path) {
    return Asked(wish_, path) || std::ranges::any_of(wish_.paths, [&](const std::string& each) {
             return IsAtOrBelow(each, path);
           });
  };
  const auto first = std::ranges::find_if(unreadable.paths, asked);
  if (first == unreadable.paths.end() && unreadable.count == unreadable.paths.size()) return {};
  const std::string path = first == unreadable.paths.end() ? "some of it" : *first;
  return Fail(Code::kUnavailable, "promote: " + EscapeForTerminal(path) + " cannot be read",
              "mend its mode inside, or leave it out");
}

Result<Plan> Planner::Run() {
  // A rename is a deletion and an addition: reality has its own state at both, and both are undone
  // one by one.
  differ::MergedWalk walk(layout_, differ::Renames::kExpand);
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<differ::Entry> entry, walk.Next());
    if (!entry) break;
    CLOCHE_TRY(Take(std::move(*entry)));
  }
  CLOCHE_TRY(CheckReadable(walk.unreadable()));
  CheckNames();
  if (wish_.rules) wish_.rules->Check(plan_.wanted, wish_.to, plan_.conflicts);
  std::ranges::stable_sort(plan_.alarms, std::greater(), &Alarm::alarm);
  if (whole_) {
    ASSIGN_OR_RETURN(plan_.digest, digest_.Finish());
  }
  return std::move(plan_);
}

}  // namespace

bool IsTakenOver(const std::string& attribute) {
  return (attribute.starts_with("user.") && !attribute.starts_with("user.overlay.")) ||
         attribute.starts_with("system.posix_acl_");
}

Result<Plan> MakePlan(const StateLayout& layout, const Wish& wish, Base& base) {
  ASSIGN_OR_RETURN(Plan plan, Planner(layout, wish, base).Run());
  if (!wish.digest.empty() && plan.digest != wish.digest)
    return Fail(Code::kConflict,
                "promote: sandbox or reality is not what was shown: its digest is " +
                    (plan.digest.empty() ? "none" : plan.digest),
                "look again: cloche promote --dry-run");
  return plan;
}

}  // namespace cloche::promoter
