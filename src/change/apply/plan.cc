#include "change/apply/plan.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/shown_path.h"
#include "change/apply/past.h"
#include "change/apply/plan_builder.h"
#include "change/apply/scope.h"
#include "change/rules/merge3.h"
#include "change/walk/compare.h"
#include "policy/paths.h"
#include "sys/file_times.h"

namespace cloche::apply {
namespace {

std::string HashOf(const change::Change& change) {
  return change.new_side->sha256 ? change::ToHex(*change.new_side->sha256) : kMerged;
}

std::string ParentOf(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

using FileNumber = std::pair<dev_t, ino_t>;

FileNumber NumberOf(const walk::LayerFile& file) { return {file.info.st_dev, file.info.st_ino}; }

// A file with several names in the sandbox and one in reality.
bool HasMoreNames(const walk::Entry& entry) {
  return entry.before && entry.after && entry.after->IsFile() && entry.after->info.st_nlink > 1 &&
         entry.before->info.st_nlink == 1;
}

// One path on its way from the walk to the plan.
struct Item {
  walk::Entry entry;                        // with --to, path and old side are in that directory
  std::string inside;                       // its path in the sandbox
  std::string target;                       // the overlay it is in
  std::optional<walk::LayerFile> original;  // the old side in the project
  bool hidden = false;                      // the old side is hidden from the sandbox
  walk::Compared compared;
  const Promoted* known = nullptr;  // set if a promotion left the old side as it is
  Situation situation;              // points into `compared`
  rules::Incoming incoming = rules::Incoming::kAdd;
  std::optional<std::string> text;  // replaces the sandbox's content
  std::string merged_from;          // for StepDetails
  bool merged = false;
  bool along = false;  // equal on both sides, replaced anyway

  const change::Change& change() const { return compared.change; }
};

using Paths = std::unordered_set<std::string>;

// Walks over what the sandbox changed and decides about each path.
class Planner {
 public:
  // `along`: files that are equal on both sides, but replaced anyway.
  Planner(const StateLayout& layout, const Wish& wish, BirthFiles& base, Paths along)
      : layout_(layout),
        wish_(wish),
        along_(std::move(along)),
        past_(layout, wish, base, survey_),
        unmatched_(wish),
        plan_(wish) {
    options_.one_owner = wish.one_owner;
    options_.project = wish.project;
    options_.home = wish.home;
    options_.texts = options_.lines = true;
  }

  Result<Plan> Run();
  // If the sandbox added a name to a file it did not otherwise change: the file's other names. They
  // must be promoted together to become one file.
  Paths OtherNames() const;

 private:
  // Steps for one path, in this order. False: nothing more to do for it.
  Status Take(walk::Entry entry);
  Result<bool> IsWanted(const walk::Entry& entry);
  bool FindPlace(Item& item);
  Result<bool> Compare(Item& item);
  Status CompareEqual(Item& item);
  bool IsSettled(const Item& item);
  bool Examine(Item& item);
  const rules::Case& Decide(Item& item);
  bool Resolve(const rules::Case& which, Item& item);
  bool Merge(Item& item);
  Status Want(Item& item);

  PlanBuilder::Why WhyNotWanted(const walk::Entry& entry) const;
  bool IsForeign(const walk::Entry& entry);
  bool IsOnlyTheirs(const walk::Entry& entry, const change::Change& change) const;
  Result<bool> LeaveOut(const walk::Entry& entry);
  void RefuseHiddenDirectory(const Item& item);
  bool KeepsOurs(const Item& item) const { return Covered(wish_.keep_ours, item); }
  bool TakesTheirs(const Item& item) const { return Covered(wish_.take_theirs, item); }
  static bool Covered(const std::vector<std::string>& directories, const Item& item);
  Status CheckReadable(const walk::Unreadable& unreadable) const;
  void RefuseLost();

  const StateLayout& layout_;
  const Wish& wish_;
  Paths along_;
  std::multimap<FileNumber, std::string> equal_;  // by inode in the upper: files with several names
  std::set<FileNumber> named_;                    // those of them that get a new name
  walk::CompareOptions options_;
  Survey survey_;
  Past past_;
  Unmatched unmatched_;
  std::unordered_set<std::string> removed_;  // directories
  std::unordered_set<std::string> foreign_;  // directories
  std::unordered_set<std::string> gone_;     // directories, also those replaced by something else
  PlanBuilder plan_;
};

Status Planner::Take(walk::Entry entry) {
  ASSIGN_OR_RETURN(const bool wanted, IsWanted(entry));
  if (!wanted) {
    if (entry.before && !entry.after) plan_.Stays(entry.path, WhyNotWanted(entry));
    return {};
  }
  Item item;
  item.entry = std::move(entry);
  if (!FindPlace(item)) return {};
  ASSIGN_OR_RETURN(const bool differs, Compare(item));
  if (!differs || (!item.along && IsSettled(item)) || !Examine(item)) return {};
  const rules::Case& which = Decide(item);
  if (item.along && which.verdict != rules::Verdict::kApply) return {};
  return Resolve(which, item) ? Want(item) : Status();
}

// The caller asked for it, and it is the sandbox's change.
Result<bool> Planner::IsWanted(const walk::Entry& entry) {
  unmatched_.See(entry.path);
  if (!Asked(wish_, entry.path) || IsForeign(entry)) return false;
  ASSIGN_OR_RETURN(const bool left_out, LeaveOut(entry));
  if (left_out) return false;
  if (plan_.size() >= wish_.most)
    return Fail(
        Code::kExhausted, fmt::format("promote: more than {} changes", wish_.most),
        "promote it in parts: cloche promote SANDBOX PATH..., or leave some out: --exclude");
  return true;
}

PlanBuilder::Why Planner::WhyNotWanted(const walk::Entry& entry) const {
  return Asked(wish_, entry.path) ? PlanBuilder::Why::kNotTheSandboxes : PlanBuilder::Why::kLeftOut;
}

// Finds where it goes and what reality has there.
bool Planner::FindPlace(Item& item) {
  walk::Entry& entry = item.entry;
  item.target = TargetOf(layout_, entry.path);
  if (entry.path == item.target) return false;  // an overlay's top: only the time of its root
  item.inside = entry.path;
  item.original = entry.before;
  if (!wish_.to.empty()) {
    entry.path = wish_.to + entry.path.substr(wish_.project.size());
    unmatched_.See(entry.path);
    if (entry.path == wish_.to || Covers(wish_.exclude, entry.path) ||
        Matches(wish_.exclude_globs, entry.path) ||
        std::ranges::find(wish_.leave, entry.path) != wish_.leave.end())
      return false;
    item.target = wish_.to;
    entry.before = survey_.Find(item.target, entry.path);
  }
  if (!entry.before && !entry.after) return false;
  // Files hidden from the sandbox still exist in reality and would be replaced.
  if (wish_.to.empty() && !entry.before && !plan_.MakesParentOf(entry.path)) {
    entry.before = survey_.Find(item.target, entry.path);
    item.hidden = entry.before && !entry.before->mount_root;
    if (!item.hidden) entry.before.reset();
  }
  return true;
}

// Whether reality and sandbox differ there.
Result<bool> Planner::Compare(Item& item) {
  ASSIGN_OR_RETURN(std::optional<walk::Compared> compared,
                   walk::CompareEntry(item.entry, options_));
  if (!compared && along_.contains(item.entry.path)) {
    CLOCHE_TRY(CompareEqual(item));
  } else if (!compared) {
    RefuseHiddenDirectory(item);
    if (!item.hidden && HasMoreNames(item.entry))
      equal_.emplace(NumberOf(*item.entry.after), item.entry.path);
    return false;
  } else {
    item.compared = std::move(*compared);
  }
  if (item.entry.before) item.known = past_.Known(item.entry.path, item.entry.before->info);
  return true;
}

// Compares as if the file were new, then restores the old side.
Status Planner::CompareEqual(Item& item) {
  walk::Entry added = item.entry;
  added.before.reset();
  ASSIGN_OR_RETURN(std::optional<walk::Compared> compared, walk::CompareEntry(added, options_));
  change::Change& change = compared->change;
  ASSIGN_OR_RETURN(change.old_side, walk::Describe(*item.entry.before, wish_.one_owner));
  change.old_side->sha256 = change.new_side->sha256;
  change.new_side->uid = change.old_side->uid;
  change.new_side->gid = change.old_side->gid;
  change.kind = change::ChangeKind::kModified;
  change.lines.reset();
  compared->old_text = compared->new_text;
  item.compared = std::move(*compared);
  item.along = true;
  return {};
}

Paths Planner::OtherNames() const {
  Paths paths;
  for (const auto& [number, path] : equal_)
    if (named_.contains(number)) paths.insert(path);
  return paths;
}

// A directory that the sandbox made where one is hidden looks the same, but is not.
void Planner::RefuseHiddenDirectory(const Item& item) {
  const std::string& path = item.entry.path;
  if (!item.hidden || !item.entry.before->IsDirectory() || past_.HoldsPromoted(path) ||
      Covers(wish_.keep_ours, path) || Covers(wish_.take_theirs, path))
    return;
  change::Change same;
  same.path = path;
  Situation situation;
  situation.change = &same;
  plan_.Refuse(rules::Decide(rules::Incoming::kAddDirectory, rules::Real::kHidden), situation);
}

// They differ, but the sandbox has done nothing since this was last decided.
bool Planner::IsSettled(const Item& item) {
  const change::Change& change = item.change();
  // A merge is not repeated until the sandbox changes its side.
  if (item.known && change.new_side && change.new_side->sha256 &&
      item.known->merged_from == change::ToHex(*change.new_side->sha256))
    return true;
  if (item.known || TakesTheirs(item) || !IsOnlyTheirs(item.entry, change)) return false;
  if (!item.entry.after) plan_.Stays(change.path, PlanBuilder::Why::kNotTheSandboxes);
  plan_.Note(change.path +
             ": reality has changed it since it was promoted, the sandbox has not: it is left as "
             "it is (--theirs takes the sandbox's)");
  return true;
}

// Finds what the sandbox saw, what is in the way, and so what the sandbox did; false: nothing.
bool Planner::Examine(Item& item) {
  const walk::Entry& entry = item.entry;
  const change::Change& change = item.change();
  Situation& situation = item.situation;
  situation.change = &change;
  const auto whole = [](const std::optional<change::Side>& side, const std::string& text) {
    return side && side->type == change::FileType::kFile && side->size == text.size();
  };
  situation.texts = whole(change.old_side, item.compared.old_text) &&
                    whole(change.new_side, item.compared.new_text);
  // Nobody may see a hidden file's text.
  if (item.hidden) {
    item.compared.old_text.clear();
    situation.texts = false;
  }
  situation.ours = item.compared.old_text;
  situation.theirs = item.compared.new_text;
  if (entry.before) situation.unsure = past_.WhyUnsure(*entry.before);
  if (item.hidden && !item.known)
    situation.seen = Seen::kHidden;
  else if (wish_.to.empty())
    past_.Look(entry, item.target, situation);
  else
    past_.LookElsewhere(entry, item.original, situation);
  if (!plan_.MakesParentOf(entry.path))
    situation.obstacle = survey_.Obstacle(item.target, entry.path);
  const std::optional<rules::Incoming> incoming = IncomingOf(situation);
  if (!incoming) return false;
  item.incoming = *incoming;
  // The owner of a directory may change it even if its parent is not writable.
  if (item.incoming == rules::Incoming::kDirectoryMetadata &&
      situation.obstacle == rules::Real::kUnwritable)
    situation.obstacle.reset();
  return true;
}

const rules::Case& Planner::Decide(Item& item) {
  const std::string& path = item.entry.path;
  if (item.incoming == rules::Incoming::kDeleteDirectory) removed_.insert(path);
  rules::Real real = RealOf(item.situation, item.incoming);
  // New files in a directory that the sandbox deleted are not ours to delete.
  if (item.incoming == rules::Incoming::kDelete && real == rules::Real::kEdited &&
      removed_.contains(ParentOf(path)) && past_.CameSince(*item.entry.before)) {
    item.incoming = rules::Incoming::kDeleteDirectory;
    real = rules::Real::kNotEmpty;
  }
  return rules::Decide(item.incoming, real);
}

// Whether to apply it, as the case says or as the caller chose.
bool Planner::Resolve(const rules::Case& which, Item& item) {
  const change::Change& change = item.change();
  const auto chosen = wish_.texts.find(change.path);
  if (chosen != wish_.texts.end() && change.new_side &&
      change.new_side->type == change::FileType::kFile)
    item.text = chosen->second;
  switch (which.verdict) {
    case rules::Verdict::kSkip:
      return false;
    case rules::Verdict::kApply:
      break;
    case rules::Verdict::kMerge:
      if (KeepsOurs(item) || (!TakesTheirs(item) && !Merge(item))) return false;
      break;
    case rules::Verdict::kConflict: {
      if (KeepsOurs(item)) {
        if (!change.new_side) plan_.Stays(change.path, PlanBuilder::Why::kNotTheSandboxes);
        return false;
      }
      const bool both = which.reason == rules::Reason::kBothChanged;
      const bool theirs = TakesTheirs(item) && (both || which.reason == rules::Reason::kGone);
      if (!theirs && !(both && item.text)) {
        plan_.Refuse(which, item.situation);
        return false;
      }
      if (item.text) item.merged_from = HashOf(change);
      break;
    }
    case rules::Verdict::kRefuse:
      plan_.Refuse(which, item.situation);
      return false;
  }
  // If the chosen text is what reality has, nothing is left to do.
  return !(item.text && item.situation.texts && *item.text == item.situation.ours &&
           !change.differs.mode && !change.differs.xattr && !change.differs.owner);
}

// Both sides edited the text. False: in the same place, and the caller has not chosen.
bool Planner::Merge(Item& item) {
  const Situation& situation = item.situation;
  auto merged = rules::MergeTexts(situation.base_text, situation.ours, situation.theirs,
                                  {"reality", "sandbox"});
  if (merged && merged->Clean()) {
    item.merged = true;
    item.merged_from = kMerged;
    if (!item.text) item.text = std::move(merged->text);
    return true;
  }
  if (item.text) {
    item.merged_from = HashOf(item.change());
    return true;
  }
  plan_.Refuse(rules::Decide(item.incoming, rules::Real::kEdited), situation,
               merged ? merged->text : "");
  return false;
}

Status Planner::Want(Item& item) {
  const walk::Entry& entry = item.entry;
  PlanBuilder::Change change;
  change.hidden = item.hidden;
  change.merged = item.merged;
  change.may_stay = KeepsOurs(item);
  Wanted& wanted = change.wanted;
  if (entry.after) wanted.source = entry.after->directory;
  if (item.incoming == rules::Incoming::kLink) named_.insert(NumberOf(*entry.after));
  wanted.text = std::move(item.text);
  if (entry.before) wanted.before = IdentityOf(entry.before->info);
  wanted.target = item.target;
  wanted.before_changed_ns =
      item.known ? item.known->changed_ns : WithoutTouches(wish_, wanted.before).changed_ns;
  StepDetails details;
  details.merged_from = std::move(item.merged_from);
  if (item.known) details.before_merged_from = item.known->merged_from;
  if (!details.merged_from.empty() || !details.before_merged_from.empty())
    wanted.few = std::make_shared<const StepDetails>(std::move(details));
  change.compared = std::move(item.compared);
  return plan_.Want(std::move(change));
}

// With --to, a path has two names.
bool Planner::Covered(const std::vector<std::string>& directories, const Item& item) {
  return Covers(directories, item.entry.path) || Covers(directories, item.inside);
}

// diff does not show noise, so nobody has reviewed it. It is deleted only along with its directory.
Result<bool> Planner::LeaveOut(const walk::Entry& entry) {
  const bool directory = entry.before && entry.before->IsDirectory();
  const bool stays = entry.after && (!directory || entry.after->IsDirectory());
  const change::Group group = NoiseOf(wish_, entry.path);
  if (group == change::Group::kReal || (!entry.after && gone_.contains(ParentOf(entry.path)))) {
    if (directory && !stays) gone_.insert(entry.path);
    return false;
  }
  const bool is_directory = entry.after ? entry.after->IsDirectory() : directory;
  if (is_directory) return true;
  if (entry.before && entry.after) {
    walk::CompareOptions options;
    options.one_owner = wish_.one_owner;
    ASSIGN_OR_RETURN(const auto compared, walk::CompareEntry(entry, options));
    if (!compared) return true;
  }
  plan_.LeaveOut(group);
  return true;
}

// Somebody else put it into a directory that this sandbox promoted. The sandbox never saw it, so it
// did not delete it.
bool Planner::IsForeign(const walk::Entry& entry) {
  const std::string parent = ParentOf(entry.path);
  if (!entry.unseen || wish_.promoted.contains(entry.path) ||
      (!past_.Made(parent) && !foreign_.contains(parent)))
    return false;
  if (entry.before->IsDirectory()) foreign_.insert(entry.path);
  return true;
}

// Only reality changed the file's content since this sandbox promoted it; or somebody created a
// file again that this sandbox had deleted.
bool Planner::IsOnlyTheirs(const walk::Entry& entry, const change::Change& change) const {
  if (wish_.to.empty() && entry.before && !entry.before->IsDirectory() && !entry.after &&
      past_.TookAway(entry.path))
    return true;
  const Promoted* made = past_.Made(entry.path);
  if (!made || !made->merged_from.empty() || !wish_.to.empty() || !entry.before || !entry.after ||
      !entry.before->IsFile() || !entry.after->IsFile())
    return false;
  const struct stat& own = entry.after->info;
  return !change.differs.mode && !change.differs.owner && !change.differs.xattr &&
         sys::Nanos(own.st_mtim) == made->modified_ns &&
         static_cast<uint64_t>(own.st_size) == made->size;
}

// Paths the caller did not ask for may be unreadable.
Status Planner::CheckReadable(const walk::Unreadable& unreadable) const {
  const auto asked = [&](const std::string& path) {
    return Asked(wish_, path) || !wish_.path_globs.empty() ||
           std::ranges::any_of(wish_.paths,
                               [&](const std::string& each) { return IsAtOrBelow(each, path); });
  };
  const auto first = std::ranges::find_if(unreadable.paths, asked);
  if (first == unreadable.paths.end() && unreadable.count == unreadable.paths.size()) return {};
  const std::string path = first == unreadable.paths.end() ? "some of it" : *first;
  return Fail(
      Code::kUnavailable, "promote: " + ShownPath(path) + " cannot be read",
      "make it readable inside, or at most 1,000 directories deep; or leave it out: --exclude");
}

// A renamed directory whose origin in reality is gone: missing entries do not mean that the sandbox
// deleted them.
void Planner::RefuseLost() {
  for (const SpecialDirectory& each : layout_.special) {
    const std::string& target = layout_.slots[each.slot].target;
    const std::string path = (target == "/" ? "" : target) + "/" + each.path;
    if (!each.lost || each.of_other || !Asked(wish_, path)) continue;
    plan_.Refuse(
        {.path = path,
         .reason = "the directory it was renamed from is gone in reality, with what it held",
         .cure = "put that back, or make this one anew inside: cp -a, rm -r and mv; or leave it "
                 "out: --exclude " +
                 path});
  }
}

Result<Plan> Planner::Run() {
  CLOCHE_TRY(plan_.FindLinks(layout_));
  // A rename is a deletion and an addition: reality has its own state at both paths, and each is
  // undone separately.
  walk::MergedWalk walk(layout_, walk::Renames::kExpand);
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<walk::Entry> entry, walk.Next());
    if (!entry) break;
    CLOCHE_TRY(Take(std::move(*entry)));
  }
  CLOCHE_TRY(CheckReadable(walk.unreadable()));
  RefuseLost();
  ASSIGN_OR_RETURN(Plan plan, plan_.Finish());
  plan.unmatched = unmatched_.List();
  return plan;
}

}  // namespace

bool IsTakenOver(const std::string& attribute) {
  return (attribute.starts_with("user.") && !attribute.starts_with("user.overlay.")) ||
         attribute.starts_with("system.posix_acl_");
}

Identity WithoutTouches(const Wish& wish, Identity now, int64_t until_ns) {
  for (auto found = wish.touched.find({now.inode, now.changed_ns});
       found != wish.touched.end() && now.changed_ns != until_ns && found->second < now.changed_ns;
       found = wish.touched.find({now.inode, now.changed_ns}))
    now.changed_ns = found->second;
  return now;
}

Result<Plan> MakePlan(const StateLayout& layout, const Wish& wish, BirthFiles& base) {
  Planner planner(layout, wish, base, {});
  ASSIGN_OR_RETURN(Plan plan, planner.Run());
  if (Paths along = planner.OtherNames(); !along.empty()) {
    ASSIGN_OR_RETURN(plan, Planner(layout, wish, base, std::move(along)).Run());
  }
  if (!wish.digest.empty() && plan.digest != wish.digest)
    return Fail(Code::kConflict,
                "promote: sandbox or reality is not what was shown: its digest is " +
                    (plan.digest.empty() ? "none" : plan.digest),
                "look again: cloche promote --dry-run");
  return plan;
}

}  // namespace cloche::apply
