#include "promoter/plan.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/shown_path.h"
#include "diff/digest.h"
#include "differ/compare.h"
#include "policy/paths.h"
#include "promote/merge3.h"
#include "promoter/alarms.h"
#include "promoter/asked.h"
#include "promoter/links.h"
#include "promoter/past.h"
#include "promoter/rules.h"
#include "promoter/sides.h"
#include "sys/file_times.h"

namespace cloche::promoter {
namespace {

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

std::string HashOf(const diff::Change& change) {
  return change.new_side->sha256 ? diff::ToHex(*change.new_side->sha256) : kMerged;
}

// One walk over what the sandbox changed, a decision for each path.
class Planner {
 public:
  Planner(const StateLayout& layout, const Wish& wish, Base& base)
      : layout_(layout), wish_(wish), past_(layout, wish, base, survey_), unmatched_(wish) {
    options_.one_owner = wish.one_owner;
    options_.project = wish.project;
    options_.home = wish.home;
    options_.texts = options_.lines = true;
  }

  Result<Plan> Run();

 private:
  Status Take(differ::Entry entry);
  bool IsForeign(const differ::Entry& entry);
  bool IsOnlyTheirs(const differ::Entry& entry, const diff::Change& change) const;
  Result<bool> LeaveOut(const differ::Entry& entry);
  Status Want(differ::Compared compared, const differ::Entry& entry, const std::string& target,
              std::optional<std::string> text, std::string merged_from, bool hidden);
  void Refuse(const promote::Case& which, const Situation& situation,
              const std::string& merged = "");
  void KeepTexts(const std::string& path, Texts texts);
  bool MadeHere(const std::string& path) const;
  Status CheckReadable(const differ::Unreadable& unreadable) const;
  Status CheckNames();
  void RefuseLost();

  const StateLayout& layout_;
  const Wish& wish_;
  differ::CompareOptions options_;
  Survey survey_;
  Past past_;
  Unmatched unmatched_;
  Links links_to_;
  std::unordered_set<std::string> removed_;  // directories
  std::unordered_set<std::string> foreign_;  // directories
  std::unordered_set<std::string> made_;     // directories
  std::unordered_set<std::string> gone_;     // directories, also where something else comes
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

// Below a directory that this promotion makes there is nothing yet.
bool Planner::MadeHere(const std::string& path) const {
  return made_.contains(path.substr(0, path.find_last_of('/')));
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
  std::string reason = promote::Sentence(which);
  std::string cure(promote::Cure(which.reason));
  if (!situation.unsure.empty() && situation.seen == Seen::kUnknown) {
    reason = fmt::format("{}; whether reality has changed it cannot be told: {}",
                         reason.substr(0, reason.find(';')), situation.unsure);
    cure = "compare the two, then " + cure;
  }
  plan_.conflicts.push_back(
      {path, std::move(reason), std::move(cure), which.tag, choose, std::move(shown)});
}

// What diff does not show nobody has looked at. It goes only with a directory that goes.
Result<bool> Planner::LeaveOut(const differ::Entry& entry) {
  const bool directory = entry.before && entry.before->IsDirectory();
  const bool stays = entry.after && (!directory || entry.after->IsDirectory());
  const diff::Group group = NoiseOf(wish_, entry.path);
  const std::string parent = entry.path.substr(0, entry.path.find_last_of('/'));
  if (group == diff::Group::kReal || (!entry.after && gone_.contains(parent))) {
    if (directory && !stays) gone_.insert(entry.path);
    return false;
  }
  const bool is_directory = entry.after ? entry.after->IsDirectory() : directory;
  if (is_directory) return true;
  if (entry.before && entry.after) {
    differ::CompareOptions options;
    options.one_owner = wish_.one_owner;
    ASSIGN_OR_RETURN(const auto compared, differ::CompareEntry(entry, options));
    if (!compared) return true;
  }
  ++plan_.left_out[std::string(diff::GroupName(group))];
  return true;
}

// Somebody else put it into a directory that came from this sandbox. The sandbox never saw it, so
// it is not deleted there.
bool Planner::IsForeign(const differ::Entry& entry) {
  const std::string parent = entry.path.substr(0, entry.path.find_last_of('/'));
  if (!entry.unseen || wish_.promoted.contains(entry.path) ||
      (!past_.Made(parent) && !foreign_.contains(parent)))
    return false;
  if (entry.before->IsDirectory()) foreign_.insert(entry.path);
  return true;
}

// The content of a file was changed in reality since this sandbox put it there, and not in the
// sandbox; or somebody made a file anew that this sandbox had deleted.
bool Planner::IsOnlyTheirs(const differ::Entry& entry, const diff::Change& change) const {
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

Status Planner::Take(differ::Entry entry) {
  unmatched_.See(entry.path);
  if (!Asked(wish_, entry.path)) return {};
  if (IsForeign(entry)) return {};
  ASSIGN_OR_RETURN(const bool left_out, LeaveOut(entry));
  if (left_out) return {};
  if (plan_.wanted.size() + plan_.conflicts.size() >= wish_.most)
    return Fail(
        Code::kExhausted, fmt::format("promote: more than {} changes", wish_.most),
        "promote it in parts: cloche promote SANDBOX PATH..., or leave some out: --exclude");
  std::string target = TargetOf(layout_, entry.path);
  if (entry.path == target) return {};  // the top of an overlay: the time of a mount's root
  const std::optional<differ::Place> original = entry.before;
  const std::string inside = entry.path;
  if (!wish_.to.empty()) {
    entry.path = wish_.to + entry.path.substr(wish_.project.size());
    unmatched_.See(entry.path);
    if (entry.path == wish_.to || Covers(wish_.exclude, entry.path) ||
        Matches(wish_.exclude_globs, entry.path) ||
        std::ranges::find(wish_.leave, entry.path) != wish_.leave.end())
      return {};
    target = wish_.to;
    entry.before = survey_.Find(target, entry.path);
  }
  if (!entry.before && !entry.after) return {};
  // What is hidden from the sandbox is there all the same, and would be replaced.
  bool hidden = false;
  if (wish_.to.empty() && !entry.before && !MadeHere(entry.path)) {
    entry.before = survey_.Find(target, entry.path);
    hidden = entry.before && !entry.before->mount_root;
    if (!hidden) entry.before.reset();
  }
  ASSIGN_OR_RETURN(std::optional<differ::Compared> compared, differ::CompareEntry(entry, options_));
  // A directory that the sandbox made where one is hidden looks the same, and yet is not that one.
  if (!compared && hidden && entry.before->IsDirectory() && !past_.HoldsPromoted(entry.path) &&
      !Covers(wish_.keep_ours, entry.path) && !Covers(wish_.take_theirs, entry.path)) {
    diff::Change same;
    same.path = entry.path;
    Situation situation;
    situation.change = &same;
    Refuse(promote::Decide(promote::Incoming::kAddDirectory, promote::Real::kHidden), situation);
  }
  if (!compared) return {};
  const diff::Change& change = compared->change;
  // What was merged is not merged again until the sandbox changes its own.
  const Promoted* known = entry.before ? past_.Known(entry.path, entry.before->info) : nullptr;
  if (known && change.new_side && change.new_side->sha256 &&
      known->merged_from == diff::ToHex(*change.new_side->sha256))
    return {};
  // With --to it has two names.
  const auto covered = [&](const std::vector<std::string>& directories) {
    return Covers(directories, entry.path) || Covers(directories, inside);
  };
  if (!known && !covered(wish_.take_theirs) && IsOnlyTheirs(entry, change)) {
    plan_.notes.push_back(entry.path +
                          ": reality has changed it since it was promoted, the sandbox has not: it "
                          "is left as it is (--theirs takes the sandbox's)");
    return {};
  }
  Situation situation;
  situation.change = &change;
  const auto whole = [](const std::optional<diff::Side>& side, const std::string& text) {
    return side && side->type == diff::FileType::kFile && side->size == text.size();
  };
  situation.texts =
      whole(change.old_side, compared->old_text) && whole(change.new_side, compared->new_text);
  // It is nobody's to show.
  if (hidden) {
    compared->old_text.clear();
    situation.texts = false;
  }
  situation.ours = compared->old_text;
  situation.theirs = compared->new_text;
  if (entry.before) situation.unsure = past_.WhyUnsure(*entry.before);
  if (hidden && !past_.Known(entry.path, entry.before->info))
    situation.seen = Seen::kHidden;
  else if (wish_.to.empty())
    past_.Look(entry, target, situation);
  else
    past_.LookElsewhere(entry, original, situation);
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
      past_.CameSince(*entry.before)) {
    incoming = promote::Incoming::kDeleteDirectory;
    real = promote::Real::kNotEmpty;
  }
  const promote::Case& which = promote::Decide(*incoming, real);
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
  return Want(std::move(*compared), entry, target, std::move(text), std::move(merged_from), hidden);
}

Status Planner::Want(differ::Compared compared, const differ::Entry& entry,
                     const std::string& target, std::optional<std::string> text,
                     std::string merged_from, bool hidden) {
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
  if (is_directory(change.old_side) && !is_directory(change.new_side) &&
      (plan_.takes.empty() || !change.path.starts_with(plan_.takes.back() + "/")))
    plan_.takes.push_back(change.path);
  FindAlarms(compared, wish_, links_to_, plan_.alarms);
  if (change.old_side && change.new_side && change.differs.content && !change.binary && !hidden)
    KeepTexts(change.path, {compared.old_text, compared.new_text, std::nullopt, ""});
  if (change.new_side && change.new_side->type == diff::FileType::kFile && !change.new_side->sha256)
    whole_ = false;
  else
    CLOCHE_TRY(digest_.Add(change));
  if (change.new_side) CheckNewSide(wish_, change, plan_);
  if (change.old_side && change.new_side) {
    const bool content = change.differs.content;  // where nobody could read it
    change.differs = diff::Compare(*change.old_side, *change.new_side);
    change.differs.content = content;
  }
  if (IsKept(wish_, change.path))
    plan_.conflicts.push_back({.path = change.path,
                               .reason = "promotions keep there what they replaced",
                               .cure = "leave it out: --exclude " + change.path});
  const bool is_link = change.new_side && change.new_side->type == diff::FileType::kSymlink;
  const auto is_settings = [&](const std::string& name) { return IsSettings(wish_, name); };
  if (is_settings(change.path) ||
      std::ranges::any_of(links_to_.NamesOf(change.path, is_link).paths, is_settings))
    plan_.conflicts.push_back(
        {.path = change.path,
         .reason = "it gives sandboxes their rights: it is only yours to change",
         .cure = "change it outside, or leave it out: --exclude " + change.path});
  plan_.changes.push_back(diff::EncodeJsonLine(change));
  plan_.changes.back().shrink_to_fit();
  Wanted wanted{entry.after ? entry.after->directory : nullptr,
                std::move(text),
                entry.before ? IdentityOf(entry.before->info) : Identity(),
                target,
                0,
                nullptr};
  wanted.before_changed_ns = WithoutTouches(wish_, wanted.before).changed_ns;
  StepDetails details;
  details.merged_from = std::move(merged_from);
  if (const Promoted* known =
          entry.before ? past_.Known(entry.path, entry.before->info) : nullptr) {
    wanted.before_changed_ns = known->changed_ns;
    details.before_merged_from = known->merged_from;
  }
  if (!details.merged_from.empty() || !details.before_merged_from.empty())
    wanted.few = std::make_shared<const StepDetails>(std::move(details));
  plan_.wanted.push_back(std::move(wanted));
  return {};
}

// A file that gets another set of names must not have more than the change knows of.
Status Planner::CheckNames() {
  const auto number = [](const Wanted& each) {
    return std::pair(each.before.device, each.before.inode);
  };
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> known;
  for (const Link& link : links_) known[number(plan_.wanted[link.wanted])] = 0;
  if (known.empty()) return {};
  for (const Wanted& each : plan_.wanted)
    if (const auto found = known.find(number(each)); found != known.end()) ++found->second;
  const promote::Case& which = promote::Decide(promote::Incoming::kLink, promote::Real::kLinked);
  for (const Link& link : links_) {
    const Wanted& wanted = plan_.wanted[link.wanted];
    const auto kept = wish_.kept_names.find(wanted.before.inode);
    if (known[number(wanted)] + (kept == wish_.kept_names.end() ? 0 : kept->second) >= link.names)
      continue;
    ASSIGN_OR_RETURN(const diff::Change change, diff::DecodeJsonLine(plan_.changes[link.wanted]));
    Situation situation;
    situation.change = &change;
    Refuse(which, situation);
  }
  return {};
}

// What was not asked for may be closed.
Status Planner::CheckReadable(const differ::Unreadable& unreadable) const {
  const auto asked = [&](const std::string& path) {
    return Asked(wish_, path) || !wish_.path_globs.empty() ||
           std::ranges::any_of(wish_.paths,
                               [&](const std::string& each) { return IsAtOrBelow(each, path); });
  };
  const auto first = std::ranges::find_if(unreadable.paths, asked);
  if (first == unreadable.paths.end() && unreadable.count == unreadable.paths.size()) return {};
  const std::string path = first == unreadable.paths.end() ? "some of it" : *first;
  return Fail(Code::kUnavailable, "promote: " + ShownPath(path) + " cannot be read",
              "mend its mode inside, or leave it out");
}

// A renamed directory whose content in reality is gone: what it lacks was not deleted inside.
void Planner::RefuseLost() {
  for (const SpecialDirectory& each : layout_.special) {
    const std::string& target = layout_.slots[each.slot].target;
    const std::string path = (target == "/" ? "" : target) + "/" + each.path;
    if (!each.lost || each.of_other || !Asked(wish_, path)) continue;
    plan_.conflicts.push_back(
        {.path = path,
         .reason = "the directory it was renamed from is gone in reality, with what it held",
         .cure = "put that back, or make this one anew inside: cp -a, rm -r and mv; or leave it "
                 "out: --exclude " +
                 path});
  }
}

Result<Plan> Planner::Run() {
  CLOCHE_TRY(links_to_.Find(layout_, wish_));
  FindUnsearched(wish_, links_to_, plan_.alarms);
  // A rename is a deletion and an addition: reality has its own state at both, and both are undone
  // one by one.
  differ::MergedWalk walk(layout_, differ::Renames::kExpand);
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<differ::Entry> entry, walk.Next());
    if (!entry) break;
    CLOCHE_TRY(Take(std::move(*entry)));
  }
  CLOCHE_TRY(CheckReadable(walk.unreadable()));
  CLOCHE_TRY(CheckNames());
  RefuseLost();
  if (wish_.rules) CLOCHE_TRY(wish_.rules->Check(plan_.changes, wish_.to, plan_.conflicts));
  std::ranges::stable_sort(plan_.alarms, std::greater(), &Alarm::alarm);
  plan_.unmatched = unmatched_.List();
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

Identity WithoutTouches(const Wish& wish, Identity now, int64_t until_ns) {
  for (auto found = wish.touched.find({now.inode, now.changed_ns});
       found != wish.touched.end() && now.changed_ns != until_ns && found->second < now.changed_ns;
       found = wish.touched.find({now.inode, now.changed_ns}))
    now.changed_ns = found->second;
  return now;
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
