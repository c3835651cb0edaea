#include "change/apply/plan_builder.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "change/apply/alarms.h"
#include "change/apply/conflict_text.h"
#include "change/apply/rules.h"
#include "change/apply/scope.h"

namespace cloche::apply {
namespace {

bool IsDirectory(const std::optional<change::Side>& side) {
  return side && side->type == change::FileType::kDirectory;
}

// On a directory, set-group-ID only hands down its group; that is not a privilege.
uint32_t BitsLeftOut(const change::Side& side) {
  if (side.type == change::FileType::kSymlink) return 0;
  return side.mode & (side.type == change::FileType::kDirectory ? 04000u : 06000u);
}

}  // namespace

Status PlanBuilder::FindLinks(const StateLayout& layout) {
  CLOCHE_TRY(links_to_.Find(layout, wish_));
  FindUnsearched(wish_, links_to_, plan_.alarms);
  return {};
}

bool PlanBuilder::MakesParentOf(const std::string& path) const {
  return made_.contains(path.substr(0, path.find_last_of('/')));
}

void PlanBuilder::KeepTexts(const std::string& path, Texts texts) {
  if (!wish_.with_texts) return;
  const size_t size = texts.ours.size() + texts.theirs.size() + texts.merged.size() +
                      (texts.base ? texts.base->size() : 0);
  if (texts_kept_ + size > kMostTexts) return;
  texts_kept_ += size;
  plan_.texts[path] = std::move(texts);
}

void PlanBuilder::Refuse(const rules::Case& which, const Situation& situation,
                         const std::string& merged) {
  const std::string& path = situation.change->path;
  const bool choose = which.verdict != rules::Verdict::kRefuse;
  std::vector<std::string> shown = ConflictLines(merged);
  if (shown.empty() && choose && situation.texts)
    shown = DifferingLines(situation.ours, situation.theirs);
  if (choose && situation.texts)
    KeepTexts(path,
              {situation.ours, situation.theirs,
               situation.seen == Seen::kText ? std::optional(situation.base_text) : std::nullopt,
               merged});
  std::string reason = rules::Sentence(which);
  std::string cure(rules::Cure(which.reason));
  if (!situation.unsure.empty() && situation.seen == Seen::kUnknown) {
    reason = fmt::format("{}; whether reality has changed it cannot be told: {}",
                         reason.substr(0, reason.find(';')), situation.unsure);
    cure = "compare the two, then " + cure;
  }
  Refuse({path, std::move(reason), std::move(cure), which.tag, choose, std::move(shown)});
}

// Notes or refuses what cannot be promoted as it is.
void PlanBuilder::CheckNewSide(change::Change& change) {
  change::Side& side = *change.new_side;
  const std::string& path = change.path;
  if (side.type == change::FileType::kFile && !side.sha256)
    return Refuse({.path = path,
                   .reason = "it cannot be read, or is too large to be checked",
                   .cure = "leave it out: --exclude " + path});
  if (const uint32_t dropped = BitsLeftOut(side); dropped != 0) {
    side.mode &= ~dropped;
    Note(path + ": its set-user-ID and set-group-ID bits are left out");
  }
  for (auto each = side.xattrs.begin(); each != side.xattrs.end();) {
    const bool kept = IsTakenOver(each->first);
    if (!kept) Note(path + ": its attribute " + each->first + " is left out");
    each = kept ? std::next(each) : side.xattrs.erase(each);
  }
  if (wish_.root || wish_.one_owner) return;
  const bool as_it_was =
      change.old_side && change.old_side->uid == side.uid && change.old_side->gid == side.gid;
  if (side.uid != wish_.uid && !as_it_was)
    Note(fmt::format("{}: it will be yours, not user {}'s", path, side.uid));
  if (side.gid != wish_.gid && std::ranges::find(wish_.groups, side.gid) == wish_.groups.end())
    Note(fmt::format("{}: it will be of your group, not group {}", path, side.gid));
}

// Refuses places where promotions keep files, and settings that give sandboxes their rights.
void PlanBuilder::CheckPlace(const change::Change& change) {
  if (IsKept(wish_, change.path))
    Refuse({.path = change.path,
            .reason = "promotions keep there what they replaced",
            .cure = "leave it out: --exclude " + change.path});
  const bool is_link = change.new_side && change.new_side->type == change::FileType::kSymlink;
  const auto is_settings = [&](const std::string& name) { return IsSettings(wish_, name); };
  if (is_settings(change.path) ||
      std::ranges::any_of(links_to_.NamesOf(change.path, is_link).paths, is_settings))
    Refuse({.path = change.path,
            .reason = "it gives sandboxes their rights: it is only yours to change",
            .cure = "change it outside, or leave it out: --exclude " + change.path});
}

Status PlanBuilder::AddToDigest(const change::Change& change) {
  if (!change.new_side || change.new_side->type != change::FileType::kFile ||
      change.new_side->sha256)
    return digest_.Add(change);
  whole_ = false;
  return {};
}

Status PlanBuilder::Want(Change wanted) {
  walk::Compared& compared = wanted.compared;
  change::Change& change = compared.change;
  if (wanted.wanted.text) {
    change.new_side->hard_link.reset();
    SetText(change, compared.old_text, *wanted.wanted.text);
    compared.new_text = *wanted.wanted.text;
  }
  if (wanted.merged) plan_.merged.push_back(change.path);
  if (IsDirectory(change.new_side) && !IsDirectory(change.old_side)) made_.insert(change.path);
  if (IsDirectory(change.old_side) && !IsDirectory(change.new_side))
    going_[change.path] = {plan_.wanted.size(), change.new_side.has_value(), wanted.may_stay, {}};
  FindAlarms(compared, wish_, links_to_, plan_.alarms);
  if (change.old_side && change.new_side && change.differs.content && !change.binary &&
      !wanted.hidden)
    KeepTexts(change.path, {compared.old_text, compared.new_text, std::nullopt, ""});
  CLOCHE_TRY(AddToDigest(change));
  if (change.new_side) CheckNewSide(change);
  if (change.old_side && change.new_side) {
    const bool content = change.differs.content;  // if nobody could read it
    change.differs = change::Compare(*change.old_side, *change.new_side);
    change.differs.content = content;
  }
  CheckPlace(change);
  plan_.changes.push_back(change::EncodeJsonLine(change));
  plan_.changes.back().shrink_to_fit();
  plan_.wanted.push_back(std::move(wanted.wanted));
  return {};
}

void PlanBuilder::Stays(const std::string& path, Why why) {
  for (size_t end = path.rfind('/'); end != 0 && end != std::string::npos;
       end = path.rfind('/', end - 1))
    if (const auto found = going_.find(path.substr(0, end)); found != going_.end())
      found->second.kept = why;
}

// A directory is removed once empty. If something stays in it, it stays, too, or is a conflict.
Status PlanBuilder::CheckEmptied() {
  std::vector<size_t> dropped;
  for (const auto& [path, each] : going_) {
    if (each.kept && each.may_stay) {
      dropped.push_back(each.wanted);
    } else if (each.kept) {
      const rules::Case& which = rules::Decide(
          each.to_file ? rules::Incoming::kDirectoryToFile : rules::Incoming::kDeleteDirectory,
          rules::Real::kNotEmpty);
      std::string reason = rules::Sentence(which), cure(rules::Cure(which.reason));
      if (each.kept == Why::kLeftOut) {
        reason = reason.substr(0, reason.find(';')) + "; something in it is left out";
        cure = "promote what is in it, too, or keep the directory with --ours";
      }
      Refuse({path, std::move(reason), std::move(cure), which.tag, true});
    } else if (plan_.takes.empty() || !path.starts_with(plan_.takes.back() + "/")) {
      plan_.takes.push_back(path);
    }
  }
  std::ranges::sort(dropped);
  return dropped.empty() ? Status() : Drop(dropped);
}

// `dropped`: sorted indices into `wanted`.
Status PlanBuilder::Drop(const std::vector<size_t>& dropped) {
  std::vector<std::string> changes;
  std::deque<Wanted> wanted;
  change::ChangeSetDigest digest;
  for (size_t i = 0, next = 0; i < plan_.wanted.size(); ++i) {
    if (next < dropped.size() && dropped[next] == i) {
      ++next;
      continue;
    }
    ASSIGN_OR_RETURN(const change::Change change, change::DecodeJsonLine(plan_.changes[i]));
    if (whole_) CLOCHE_TRY(digest.Add(change));
    changes.push_back(std::move(plan_.changes[i]));
    wanted.push_back(std::move(plan_.wanted[i]));
  }
  plan_.changes = std::move(changes);
  plan_.wanted = std::move(wanted);
  digest_ = std::move(digest);
  return {};
}

Result<Plan> PlanBuilder::Finish() {
  CLOCHE_TRY(CheckEmptied());
  if (wish_.rules) CLOCHE_TRY(wish_.rules->Check(plan_.changes, wish_.to, plan_.conflicts));
  std::ranges::stable_sort(plan_.alarms, std::greater(), &Alarm::alarm);
  if (whole_) {
    ASSIGN_OR_RETURN(plan_.digest, digest_.Finish());
  }
  return std::move(plan_);
}

}  // namespace cloche::apply
