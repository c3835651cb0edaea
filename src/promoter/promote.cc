#include "promoter/promote.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "base/text.h"
#include "sys/directory.h"

namespace cloche::promoter {
namespace {

Status OpenAll(const std::vector<Step>& steps, Realities& realities) {
  for (const Step& step : steps) CLOCHE_TRY(OpenReality(realities, step.target));
  return {};
}

// Everything written so far to the file systems a promotion touches.
Status SyncAll(const Store::Entry& entry, const Realities& realities) {
  if (syncfs(entry.files.get()) < 0)
    return Fail(Code::kUnavailable, fmt::format("sync: {}", strerror(errno)));
  for (const auto& [target, reality] : realities)
    if (reality.Sync() < 0)
      return Fail(Code::kUnavailable, fmt::format("sync {}: {}", target, strerror(errno)));
  return {};
}

std::vector<std::string> RevertAll(const std::vector<Step>& steps, const Store::Entry& entry,
                                   const Realities& realities, bool root) {
  std::vector<std::string> problems;
  const auto revert = [&](bool directories) {
    for (const Step& step : steps | std::views::reverse) {
      if ((step.kind == StepKind::kSetDir) != directories) continue;
      if (Status reverted = Revert(step, entry.files.get(), realities, root); !reverted)
        problems.push_back(reverted.error().message);
    }
  };
  revert(true);  // one may have been closed
  revert(false);
  revert(true);  // what went in and out changed their times
  return problems;
}

std::vector<int64_t> SettledAll(const std::vector<Step>& steps, const Realities& realities) {
  std::vector<int64_t> settled_ns;
  for (const Step& step : steps) settled_ns.push_back(SettledAt(step, realities));
  return settled_ns;
}

// What earlier promotions left, by path. Of this sandbox's own it is no change of reality's; what
// was taken back is as old as it was before.
Result<std::map<std::string, Promoted>> FindPromoted(const Store& store,
                                                     const std::string& sandbox) {
  std::map<std::string, Promoted> found;
  for (const std::string& id : store.List()) {
    ASSIGN_OR_RETURN(const Store::Entry entry, store.OpenEntry(id));
    ASSIGN_OR_RETURN(const Promotion earlier, Journal::Read(entry.directory.get(), id));
    const bool done = earlier.state == PromotionState::kDone;
    if (done && earlier.sandbox != sandbox) continue;
    for (size_t i = 0; i < earlier.steps.size() && i < earlier.settled_ns.size(); ++i) {
      const Step& step = earlier.steps[i];
      const Identity& left = done ? step.staged : step.before;
      if (step.kind == StepKind::kSetDir || !left.exists()) continue;
      Promoted& promoted = found[step.path];
      if (done)
        promoted = {{}, 0, step.merged_from};
      else if (promoted.now != step.before)
        promoted = {{}, step.before.changed_ns, ""};
      promoted.now = {left.device, left.inode, earlier.settled_ns[i]};
    }
  }
  return found;
}

// A later promotion that was taken back has given it another time.
int64_t SettledOr(const std::map<std::string, Promoted>& returned, const Step& step,
                  int64_t settled_ns) {
  const auto found = returned.find(step.path);
  if (found == returned.end() || found->second.changed_ns != settled_ns) return settled_ns;
  return found->second.now.changed_ns;
}

Status RecoverOne(const Store& store, const std::string& id, bool root, Recovered& recovered) {
  ASSIGN_OR_RETURN(const Store::Entry entry, store.OpenEntry(id));
  ASSIGN_OR_RETURN(const Promotion promotion, Journal::Read(entry.directory.get(), id));
  if (promotion.state == PromotionState::kPlanned) {
    recovered.what = "left over";
    return store.Remove(id);
  }
  const bool applying = promotion.state == PromotionState::kApplying;
  if (!applying && promotion.state != PromotionState::kUndoing) return {};
  Realities realities;
  CLOCHE_TRY(OpenAll(promotion.steps, realities));
  recovered.problems = RevertAll(promotion.steps, entry, realities, root);
  recovered.what = applying ? "reverted" : "undone";
  CLOCHE_TRY(SyncAll(entry, realities));
  if (!recovered.problems.empty()) return {};  // tried again next time
  ASSIGN_OR_RETURN(Journal journal, Journal::Reopen(entry.directory.get()));
  CLOCHE_TRY(journal.WriteSettled(SettledAll(promotion.steps, realities)));
  return journal.WriteState(applying ? PromotionState::kReverted : PromotionState::kUndone);
}

}  // namespace

std::vector<Recovered> Recover(Store& store, bool root) {
  std::vector<Recovered> all;
  for (const std::string& id : store.List()) {
    Recovered recovered{id, "", {}};
    if (Status status = RecoverOne(store, id, root, recovered); !status)
      recovered.problems.push_back(status.error().message);
    if (!recovered.what.empty() || !recovered.problems.empty()) all.push_back(std::move(recovered));
  }
  return all;
}

Result<Outcome> Promote(Store& store, const StateLayout& layout, Wish wish, Base& base,
                        const std::string& sandbox, bool dry_run) {
  ASSIGN_OR_RETURN(wish.promoted, FindPromoted(store, sandbox));
  ASSIGN_OR_RETURN(Plan plan, MakePlan(layout, wish, base));
  Outcome outcome;
  outcome.conflicts = std::move(plan.conflicts);
  outcome.alarms = plan.alarms;
  outcome.notes = plan.notes;
  outcome.merged = plan.merged;
  outcome.texts = std::move(plan.texts);
  for (const Wanted& each : plan.wanted) outcome.changes.push_back(each.change);
  Promotion& promotion = outcome.promotion;
  promotion.sandbox = sandbox;
  promotion.digest = plan.digest;
  promotion.created = Now();
  if (dry_run || !outcome.conflicts.empty() || plan.wanted.empty()) return outcome;
  if (!wish.allow_triggers && std::ranges::any_of(plan.alarms, &Alarm::alarm)) return outcome;

  ASSIGN_OR_RETURN(const Store::Entry entry, store.Make());
  promotion.id = entry.id;
  Realities realities;
  const auto give_up = [&](Error error) -> Result<Outcome> {
    (void)store.Remove(entry.id);
    promotion.id.clear();
    return std::unexpected(std::move(error));
  };
  auto journal = Journal::Create(entry.directory.get());
  if (!journal) return give_up(journal.error());
  if (Status head = journal->WriteHead(promotion); !head) return give_up(head.error());
  auto steps = Stage(plan, wish, entry, realities, outcome.conflicts);
  if (!steps) return give_up(steps.error());
  if (!outcome.conflicts.empty()) {
    (void)store.Remove(entry.id);
    promotion.id.clear();
    return outcome;
  }
  promotion.steps = std::move(*steps);
  Status ready = journal->WriteSteps(promotion.steps);
  if (ready) ready = SyncAll(entry, realities);
  if (ready) ready = journal->WriteState(PromotionState::kApplying);
  if (!ready) return give_up(ready.error());

  Status applied;
  std::set<uint64_t> moved;
  for (const Step& step : promotion.steps) {
    applied = Apply(step, entry.files.get(), realities, wish.root, moved);
    if (!applied) break;
  }
  if (applied) applied = journal->WriteSettled(SettledAll(promotion.steps, realities));
  if (applied) applied = SyncAll(entry, realities);
  if (applied) applied = journal->WriteState(PromotionState::kDone);
  if (applied) {
    promotion.state = PromotionState::kDone;
    return outcome;
  }
  // Back to where it was. What cannot be taken back now is taken back at the next start.
  const std::vector<std::string> problems = RevertAll(promotion.steps, entry, realities, wish.root);
  (void)SyncAll(entry, realities);
  Error error = applied.error();
  if (problems.empty()) {
    (void)journal->WriteSettled(SettledAll(promotion.steps, realities));
    (void)journal->WriteState(PromotionState::kReverted);
    error.message += "; everything is as it was";
  } else {
    error.message += "; not yet as it was: " + problems[0];
  }
  return std::unexpected(std::move(error));
}

Result<Promotion> Undo(Store& store, const std::string& id, bool root,
                       std::vector<std::string>& moved) {
  ASSIGN_OR_RETURN(const Store::Entry entry, store.OpenEntry(id));
  ASSIGN_OR_RETURN(Promotion promotion, Journal::Read(entry.directory.get(), id));
  if (promotion.state != PromotionState::kDone)
    return Fail(Code::kConflict, fmt::format("undo {}: it is {}", id, StateName(promotion.state)),
                "cloche promotions shows which are done");
  Realities realities;
  CLOCHE_TRY(OpenAll(promotion.steps, realities));
  std::set<std::string> made;  // also where something else was
  for (const Step& step : promotion.steps)
    if (step.kind == StepKind::kCreate) made.insert(step.path);
  ASSIGN_OR_RETURN(const auto returned, FindPromoted(store, ""));
  for (size_t i = 0; i < promotion.steps.size(); ++i) {
    const Step& step = promotion.steps[i];
    if (step.kind == StepKind::kDelete && made.contains(step.path)) continue;
    if (i >= promotion.settled_ns.size() ||
        !StillOurs(step, SettledOr(returned, step, promotion.settled_ns[i]), realities))
      moved.push_back(step.path);
  }
  if (!moved.empty()) return promotion;
  ASSIGN_OR_RETURN(Journal journal, Journal::Reopen(entry.directory.get()));
  CLOCHE_TRY(journal.WriteState(PromotionState::kUndoing));
  const std::vector<std::string> problems = RevertAll(promotion.steps, entry, realities, root);
  CLOCHE_TRY(SyncAll(entry, realities));
  if (!problems.empty())
    return Fail(Code::kConflict, "undo " + id + ": " + problems[0],
                "what could be taken back was; the rest is tried again with the next promotion");
  CLOCHE_TRY(journal.WriteSettled(SettledAll(promotion.steps, realities)));
  CLOCHE_TRY(journal.WriteState(PromotionState::kUndone));
  promotion.state = PromotionState::kUndone;
  return promotion;
}

Result<std::vector<Promotion>> ListPromotions(const Store& store) {
  std::vector<Promotion> list;
  for (const std::string& id : store.List()) {
    ASSIGN_OR_RETURN(const Store::Entry entry, store.OpenEntry(id));
    ASSIGN_OR_RETURN(Promotion promotion, Journal::Read(entry.directory.get(), id));
    list.push_back(std::move(promotion));
  }
  return list;
}

}  // namespace cloche::promoter
