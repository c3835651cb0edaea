#include "promoter/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "diff/digest.h"
#include "differ/compare.h"
#include "promote/credentials.h"
#include "promote/triggers.h"
#include "promoter/rules.h"

namespace cloche::promoter {
namespace {

bool IsAtOrBelow(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory ||
         (path.size() > directory.size() && path.starts_with(directory) &&
          path[directory.size()] == '/');
}

bool Asked(const Wish& wish, const std::string& path) {
  const auto covers = [&](const std::string& each) { return IsAtOrBelow(path, each); };
  if (std::ranges::any_of(wish.exclude, covers)) return false;
  return wish.paths.empty() || std::ranges::any_of(wish.paths, covers);
}

// The innermost overlay a path is in.
std::string TargetOf(const StateLayout& layout, const std::string& path) {
  std::string found;
  for (const LayoutSlot& slot : layout.slots)
    if (IsAtOrBelow(path, slot.target) && slot.target.size() >= found.size()) found = slot.target;
  return found;
}

// Reality moved: it was changed since the sandbox was made, and so was the sandbox's.
bool Moved(const std::string& path, const Identity& now, const Wish& wish) {
  const auto ours = wish.ours.find(path);
  return now.changed_ns >= wish.since_ns && (ours == wish.ours.end() || ours->second != now);
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
  const promote::Roots roots{wish.project, wish.home};
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
  switch (side.type) {
    case diff::FileType::kFile:
    case diff::FileType::kDirectory:
    case diff::FileType::kSymlink:
      break;
    default:
      plan.conflicts.push_back(
          {shown, fmt::format("it is a {}: that stays in the sandbox", diff::TypeName(side.type)),
           "leave it out: --exclude " + shown});
      return;
  }
  if (side.type == diff::FileType::kFile && !side.sha256) {
    plan.conflicts.push_back({shown, "it cannot be read, or is too large to be checked",
                              "leave it out: --exclude " + shown});
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
    const bool kept =
        each->first.starts_with("user.") || each->first.starts_with("system.posix_acl_");
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

// One walk: the digest of what it found, and what is to be done.
Result<Plan> Walk(const StateLayout& layout, const Wish& wish, differ::Renames renames,
                  bool& renamed) {
  Plan plan;
  diff::ChangeSetDigest digest;
  differ::MergedWalk walk(layout, renames);
  differ::CompareOptions options;
  options.one_owner = wish.one_owner;
  options.texts = options.lines = true;
  bool whole = true;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<differ::Entry> entry, walk.Next());
    if (!entry) break;
    if (!Asked(wish, entry->path) && (entry->old_path.empty() || !Asked(wish, entry->old_path)))
      continue;
    ASSIGN_OR_RETURN(std::optional<differ::Compared> compared,
                     differ::CompareEntry(*entry, options));
    if (!compared) continue;
    FindAlarms(*compared, wish, plan);
    Wanted wanted{
        std::move(compared->change), entry->after,
        entry->before && entry->old_path.empty() ? IdentityOf(entry->before->info) : Identity(),
        TargetOf(layout, entry->path)};
    renamed |= wanted.change.kind == diff::ChangeKind::kRenamed;
    if (wanted.change.new_side && wanted.change.new_side->type == diff::FileType::kFile &&
        !wanted.change.new_side->sha256)
      whole = false;
    else
      CLOCHE_TRY(digest.Add(wanted.change));
    if (wanted.before.exists() && Moved(wanted.change.path, wanted.before, wish) &&
        wanted.change.old_side->type != diff::FileType::kDirectory)
      plan.conflicts.push_back(
          {wanted.change.path, "reality has changed it since the sandbox was made, too",
           "take over what reality has (cloche refresh tells), or leave it out: --exclude " +
               wanted.change.path});
    if (wanted.change.new_side) CheckNewSide(wish, wanted.change, plan);
    plan.wanted.push_back(std::move(wanted));
  }
  if (walk.unreadable().count > 0)
    return Fail(Code::kUnavailable,
                "promote: " + EscapeForTerminal(walk.unreadable().paths.at(0)) + " cannot be read",
                "mend its mode inside, or leave it out");
  if (wish.rules) wish.rules->Check(plan.wanted, plan.conflicts);
  std::ranges::stable_sort(plan.alarms, std::greater(), &Alarm::alarm);
  if (whole) {
    ASSIGN_OR_RETURN(plan.digest, digest.Finish());
  }
  return plan;
}

}  // namespace

Result<Plan> MakePlan(const StateLayout& layout, const Wish& wish) {
  bool renamed = false;
  ASSIGN_OR_RETURN(Plan plan, Walk(layout, wish, differ::Renames::kBrief, renamed));
  if (!wish.digest.empty() && plan.digest != wish.digest)
    return Fail(Code::kConflict,
                "promote: sandbox or reality is not what was shown: its digest is " +
                    (plan.digest.empty() ? "none" : plan.digest),
                "look again: cloche promote --dry-run");
  if (!renamed) return plan;
  // A rename is done as a deletion and an addition: both are undone one by one, too.
  const std::string digest = plan.digest;
  bool ignored = false;
  ASSIGN_OR_RETURN(plan, Walk(layout, wish, differ::Renames::kExpand, ignored));
  plan.digest = digest;
  return plan;
}

}  // namespace cloche::promoter
