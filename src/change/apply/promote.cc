#include "change/apply/promote.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/text.h"
#include "change/apply/durable.h"
#include "change/apply/earlier.h"
#include "change/apply/filesystem_id.h"
#include "change/apply/mismatch.h"
#include "change/apply/prune.h"
#include "change/apply/side_store.h"
#include "sys/directory.h"

namespace cloche::apply {

std::function<void(size_t done, size_t of)> on_progress;

namespace {

constexpr size_t kMostMismatches = 20;  // listed one by one

Status OpenAll(Promotion& promotion, Realities& realities, Store::Entry& entry) {
  for (const Step& step : promotion.steps) CLOCHE_TRY(OpenReality(realities, step.target));
  for (const Parent& each : promotion.parents) CLOCHE_TRY(OpenReality(realities, each.target));
  for (const FilesystemId& each : promotion.filesystem_ids)
    if (each.kind == FilesystemIdKind::kTarget) CLOCHE_TRY(OpenReality(realities, each.target));
  CLOCHE_TRY(OpenSideStores(promotion, realities, entry));
  return Recognize(promotion, entry, realities);
}

std::string MismatchCure(const std::string& id) {
  return fmt::format(
      "nothing was touched: mount as it was and try again, or put these paths right by hand and "
      "remove ~/.local/state/cloche/promotions/{}",
      id);
}

Status ApplyAll(const Promotion& promotion, const Store::Entry& entry, const Realities& realities,
                bool root) {
  Taken taken;
  for (const Step& step : promotion.steps) CLOCHE_TRY(Apply(step, entry, realities, root, taken));
  for (const Step& step : promotion.steps) CLOCHE_TRY(CheckKept(step, entry, taken));
  return {};
}

// The ctimes that files got when they were restored, by step.
using Restored = std::map<uint64_t, int64_t>;

// Applies again what an undo reverted before it had to stop.
Status ApplyAgain(const Promotion& promotion, const Restored& restored, const Store::Entry& entry,
                  const Realities& realities, bool root) {
  Taken taken;
  std::vector<const Step*> again;
  for (const Step& each : promotion.steps) {
    if (each.kind != StepKind::kSetDir && IsDone(each, entry, realities)) continue;
    Step step = each;
    if (const auto found = restored.find(step.number); found != restored.end())
      step.before.changed_ns = found->second;
    CLOCHE_TRY(Apply(step, entry, realities, root, taken));
    again.push_back(&each);
  }
  for (const Step* step : again) CLOCHE_TRY(CheckKept(*step, entry, taken));
  return {};
}

std::vector<std::string> RevertAll(const std::deque<Step>& steps,
                                   const std::vector<Parent>& parents, const Store::Entry& entry,
                                   const Realities& realities, bool root,
                                   Restored* restored = nullptr) {
  std::vector<std::string> problems;
  const auto note = [&](const Status& status) {
    if (!status) problems.push_back(status.error().message);
  };
  size_t done = 0;
  const auto backwards = steps | std::views::reverse;
  for (const Step& step : backwards) note(Reopen(step, realities));
  for (const Step& step : backwards)
    if (step.kind != StepKind::kSetDir) {
      note(Revert(step, entry, realities, root));
      if (on_progress) on_progress(++done, steps.size());
      if (restored && !step.directory && step.before.exists())
        (*restored)[step.number] = LeftAt(step, realities);
    }
  // Reverting entries changed the directories' times, so status and times come last.
  for (const Step& step : backwards)
    if (step.kind == StepKind::kSetDir) note(Revert(step, entry, realities, root));
  for (const Parent& each : parents) note(Revert(each, realities));
  return problems;
}

void Settle(Promotion& promotion, const Store::Entry& entry, const Realities& realities) {
  promotion.left_ns.clear();
  for (const Step& step : promotion.steps) promotion.left_ns.push_back(LeftAt(step, realities));
  promotion.parents_left_ns.clear();
  for (const Parent& each : promotion.parents)
    promotion.parents_left_ns.push_back(LeftAt(each, realities));
  promotion.linked_settled_ns.clear();
  for (const Step& step : promotion.steps)
    if (const int64_t changed_ns = LinkedAt(step, entry); changed_ns != 0)
      promotion.linked_settled_ns[step.number] = changed_ns;
  promotion.kept_settled_ns.clear();
  if (promotion.side_stores.empty()) return;  // only we write to the store
  for (const Step& step : promotion.steps) promotion.kept_settled_ns.push_back(KeptAt(step, entry));
}

// Reverted: sync, then record it in the journal. `moved`: parents that others have changed.
Status Close(Journal& journal, Promotion& promotion, PromotionState state,
             const Store::Entry& entry, const Realities& realities,
             const std::vector<size_t>& moved = {}) {
  CLOCHE_TRY(SyncReality(promotion, entry, realities));
  Settle(promotion, entry, realities);
  for (const size_t i : moved) promotion.parents_left_ns[i] = 0;
  CLOCHE_TRY(journal.WriteLeft(promotion));
  CLOCHE_TRY(journal.WriteState(state));
  CLOCHE_TRY(journal.Sync());
  promotion.state = state;
  DropPrepared(promotion, entry);
  return {};
}

// A later promotion that was undone may have changed its ctime, directly or through another name.
int64_t LeftAtOr(const Wish& returned, const Step& step, int64_t left_ns,
                 const Realities& realities) {
  const auto found = returned.promoted.find(step.path);
  if (found != returned.promoted.end() && found->second.changed_ns == left_ns)
    left_ns = found->second.now.changed_ns;
  const Identity now{step.prepared.device, step.prepared.inode, LeftAt(step, realities)};
  return WithoutTouches(returned, now, left_ns).changed_ns == left_ns ? now.changed_ns : left_ns;
}

// Whether only undone promotions have changed it since.
bool IsAsLeft(const Wish& returned, const Parent& parent, int64_t now_ns, int64_t left_ns) {
  const Identity now{parent.before.device, parent.before.inode, now_ns};
  return now_ns == 0 || WithoutTouches(returned, now, left_ns).changed_ns == left_ns;
}

// Finds entries that others put into directories that the promotion created; those cannot be
// removed.
void FindStrangers(const Promotion& promotion, const Realities& realities,
                   const std::vector<std::string>& force, std::vector<std::string>& moved) {
  std::set<std::string_view> own;
  for (const Step& step : promotion.steps) own.insert(step.path);
  for (const Step& step : promotion.steps) {
    if (step.kind != StepKind::kCreate || !step.directory ||
        std::ranges::find(force, step.path) != force.end())
      continue;
    const auto directory = realities.at(step.target).Directory(step.path);
    if (!directory) continue;
    sys::Directory list((*directory)->get(), ".");
    while (const dirent* entry = list.Next())
      if (const std::string path = step.path + "/" + entry->d_name; !own.contains(path))
        moved.push_back(path);
  }
}

Status RecoverOne(const Store& store, const std::string& id, bool root, Recovered& recovered) {
  const auto left_over = [&] {
    recovered.what = "left over";
    return RemovePromotion(store, id);
  };
  auto opened = store.OpenEntry(id);
  if (!opened && opened.error().code != Code::kNotFound) return std::unexpected(opened.error());
  if (!opened) return left_over();  // it died before it created its directories
  Store::Entry& entry = *opened;
  const auto head = Journal::ReadHead(entry.directory.get(), id);
  if (!head && head.error().code == Code::kNotFound) return left_over();
  if (!head) return std::unexpected(head.error());
  const PromotionState state = head->state;
  if (state == PromotionState::kPlanned) return left_over();
  if (state != PromotionState::kApplying && state != PromotionState::kApplied &&
      state != PromotionState::kUndoing)
    return {};
  ASSIGN_OR_RETURN(Promotion promotion, Journal::Read(entry.directory.get(), id));
  ASSIGN_OR_RETURN(Journal journal, Journal::Reopen(entry.directory.get()));
  Realities realities;
  CLOCHE_TRY(OpenAll(promotion, realities, entry));
  recovered.problems = FindMismatches(promotion, entry, realities);
  if (!recovered.problems.empty()) {
    if (const size_t more = recovered.problems.size(); more > kMostMismatches) {
      recovered.problems.resize(kMostMismatches);
      recovered.problems.push_back(fmt::format("and {} more", more - kMostMismatches));
    }
    recovered.cure = MismatchCure(id);
    return {};
  }
  if (state == PromotionState::kApplied &&
      std::ranges::all_of(promotion.steps,
                          [&](const Step& step) { return IsDone(step, entry, realities); })) {
    // IsDone does not see the attributes and times of directories, so set them again.
    for (const Step& step : promotion.steps | std::views::reverse)
      if (step.kind == StepKind::kSetDir) CLOCHE_TRY(SetAgain(step, realities, root));
    CLOCHE_TRY(SyncReality(promotion, entry, realities));
    return journal.WriteState(PromotionState::kDone);
  }
  recovered.problems = RevertAll(promotion.steps, promotion.parents, entry, realities, root);
  if (!recovered.problems.empty())
    return SyncReality(promotion, entry, realities);  // tried again next time
  recovered.what = state == PromotionState::kUndoing ? "undone" : "reverted";
  return Close(
      journal, promotion,
      state == PromotionState::kUndoing ? PromotionState::kUndone : PromotionState::kReverted,
      entry, realities);
}

// Puts everything into the store and the journal, and syncs. Reality is untouched until this
// returns.
Result<Journal> Prepare(std::deque<Wanted> wanted, const Wish& wish, Store::Entry& entry,
                        Realities& realities, PromotionResult& outcome) {
  Promotion& promotion = outcome.promotion;
  ASSIGN_OR_RETURN(Journal journal, Journal::Create(entry.directory.get()));
  const PrepareInto into{journal, entry, realities, promotion};
  CLOCHE_TRY(PrepareFiles(outcome.changes, std::move(wanted), wish, into, outcome.conflicts));
  if (!outcome.conflicts.empty()) return journal;
  promotion.filesystem_ids = FindFilesystemIds(promotion, entry, realities);
  CLOCHE_TRY(journal.WritePlan(promotion));
  CLOCHE_TRY(SyncPrepared(promotion, entry, realities));
  return journal;
}

Status ApplyOrRevert(Promotion& promotion, Journal& journal, const Store::Entry& entry,
                     const Realities& realities, bool root) {
  Status applied = ApplyAll(promotion, entry, realities, root);
  if (applied) {
    Settle(promotion, entry, realities);
    applied = journal.WriteLeft(promotion);
  }
  if (applied) applied = journal.WriteState(PromotionState::kApplied);
  if (applied) applied = SyncReality(promotion, entry, realities);
  if (applied) {
    // May fail: if this line is missing, recovery finds every step done.
    (void)journal.WriteState(PromotionState::kDone);
    promotion.state = PromotionState::kDone;
    return {};
  }
  // Revert. Recovery retries whatever cannot be reverted now.
  (void)journal.WriteState(PromotionState::kApplying);
  const std::vector<std::string> problems =
      RevertAll(promotion.steps, promotion.parents, entry, realities, root);
  const Status closed = problems.empty()
                            ? Close(journal, promotion, PromotionState::kReverted, entry, realities)
                            : SyncReality(promotion, entry, realities);
  Error error = applied.error();
  if (!problems.empty())
    error.message += "; not yet as it was: " + problems[0];
  else if (!closed)
    error.message += "; not yet on disk as it was: " + closed.error().message;
  else
    error.message += "; everything is as it was";
  return std::unexpected(std::move(error));
}

// Finds paths that others have changed since. They are not undone, except those in `force`.
void FindMoved(const Wish& returned, const Realities& realities, bool root,
               const std::vector<std::string>& force, Promotion& promotion,
               std::vector<std::string>& moved) {
  std::set<std::string_view> made;  // also where something else was
  for (const Step& step : promotion.steps)
    if (step.kind == StepKind::kCreate) made.insert(step.path);
  for (size_t i = 0; i < promotion.steps.size(); ++i) {
    Step& step = promotion.steps[i];
    if (step.kind == StepKind::kDelete && made.contains(step.path)) continue;
    if (i < promotion.left_ns.size() &&
        StillOurs(step, LeftAtOr(returned, step, promotion.left_ns[i], realities), realities, root))
      continue;
    if (std::ranges::find(force, step.path) == force.end()) {
      moved.push_back(step.path);
      continue;
    }
    step.forced = true;
    const auto at = realities.at(step.target).Find(step.path);
    step.prepared = at ? IdentityAt(at->directory->get(), at->name) : Identity();
  }
  FindStrangers(promotion, realities, force, moved);
}

// The directories that an undo takes away, without those in them. Where somebody insists, what is
// there now may be one, too.
std::vector<std::string> FindTaken(const Promotion& promotion) {
  std::vector<std::string> taken;
  for (const Step& step : promotion.steps)
    if ((step.kind == StepKind::kCreate && step.directory) || step.forced)
      taken.push_back(step.path);
  std::ranges::sort(taken);
  std::vector<std::string> tops;
  for (std::string& path : taken)
    if (tops.empty() || !path.starts_with(tops.back() + "/")) tops.push_back(std::move(path));
  return tops;
}

Status BeginUndo(const Promotion& promotion, bool forced, Journal& journal,
                 const Store::Entry& entry, const Realities& realities) {
  Status begun;
  // The forced paths are recorded with today's device numbers.
  if (forced) begun = journal.WriteFilesystemIds(FindFilesystemIds(promotion, entry, realities));
  for (const Step& step : promotion.steps)
    if (begun && step.forced) begun = journal.WriteForced(step);
  if (begun) begun = journal.WriteState(PromotionState::kUndoing);
  if (begun) begun = journal.Sync();
  if (begun) return {};
  (void)journal.WriteState(PromotionState::kDone);
  begun.error().cure = "nothing was undone";
  return begun;
}

// If not all of it could be undone, none of it is: apply it again.
Status Redo(Promotion& promotion, const Restored& restored, Journal& journal,
            const Store::Entry& entry, const Realities& realities, bool root) {
  Status again = ApplyAgain(promotion, restored, entry, realities, root);
  Settle(promotion, entry, realities);
  if (again) again = journal.WriteLeft(promotion);
  // As in a promotion: it is done once it is on disk.
  if (again) again = journal.WriteState(PromotionState::kApplied);
  if (again) again = SyncReality(promotion, entry, realities);
  (void)journal.WriteState(again ? PromotionState::kDone : PromotionState::kUndoing);
  return again;
}

}  // namespace

std::vector<Recovered> Recover(Store& store, bool root) {
  std::vector<Recovered> all;
  for (const std::string& id : store.List()) {
    Recovered recovered{id, "", {}, ""};
    if (Status status = RecoverOne(store, id, root, recovered); !status) {
      recovered.problems.push_back(status.error().message);
      recovered.cure = status.error().cure;
    }
    if (!recovered.what.empty() || !recovered.problems.empty()) all.push_back(std::move(recovered));
  }
  return all;
}

Result<PromotionResult> Promote(Store& store, const StateLayout& layout, Wish wish,
                                BirthFiles& base, const std::string& sandbox, bool dry_run) {
  CLOCHE_TRY(FindEarlier(store, sandbox, wish));
  ASSIGN_OR_RETURN(Plan plan, MakePlan(layout, wish, base));
  PromotionResult outcome;
  outcome.conflicts = std::move(plan.conflicts);
  outcome.alarms = plan.alarms;
  outcome.notes = plan.notes;
  outcome.unmatched = plan.unmatched;
  outcome.merged = plan.merged;
  outcome.left_out = plan.left_out;
  outcome.texts = std::move(plan.texts);
  outcome.changes = std::move(plan.changes);
  Promotion& promotion = outcome.promotion;
  promotion.sandbox = sandbox;
  promotion.project = wish.to.empty() ? wish.project : wish.to;
  promotion.digest = plan.digest;
  promotion.created = Now();
  if (dry_run || !outcome.conflicts.empty() || plan.wanted.empty()) return outcome;
  if (!wish.allow_triggers && std::ranges::any_of(plan.alarms, &Alarm::alarm)) return outcome;
  if (wish.others && !plan.takes.empty()) {
    outcome.takes = std::move(plan.takes);
    return outcome;
  }
  ASSIGN_OR_RETURN(Store::Entry entry, store.Make());
  promotion.id = entry.id;
  Realities realities;
  auto journal = Prepare(std::move(plan.wanted), wish, entry, realities, outcome);
  if (!journal || !outcome.conflicts.empty()) {
    (void)RemovePromotion(store, entry.id);
    promotion.id.clear();
    if (!journal) return std::unexpected(journal.error());
    return outcome;
  }
  CLOCHE_TRY(ApplyOrRevert(promotion, *journal, entry, realities, wish.root));
  return outcome;
}

Result<Promotion> Undo(Store& store, const std::string& id, bool root,
                       const std::vector<std::string>& force, std::vector<std::string>& moved,
                       std::vector<std::string>* takes) {
  ASSIGN_OR_RETURN(Store::Entry entry, store.OpenEntry(id));
  ASSIGN_OR_RETURN(Promotion promotion, Journal::Read(entry.directory.get(), id));
  if (promotion.state != PromotionState::kDone)
    return Fail(Code::kConflict, fmt::format("undo {}: it is {}", id, StateName(promotion.state)),
                "cloche promotions shows which are done");
  Realities realities;
  CLOCHE_TRY(OpenAll(promotion, realities, entry));
  Wish returned;
  CLOCHE_TRY(FindEarlier(store, "", returned));
  FindMoved(returned, realities, root, force, promotion, moved);
  if (!moved.empty()) return promotion;
  if (const auto mismatches = FindMismatches(promotion, entry, realities); !mismatches.empty())
    return Fail(
        Code::kConflict,
        fmt::format(
            "undo {}: {}{}", id, mismatches[0],
            mismatches.size() == 1 ? "" : fmt::format(" (and {} more)", mismatches.size() - 1)),
        MismatchCure(id));
  if (takes) *takes = FindTaken(promotion);
  if (takes && !takes->empty()) return promotion;
  // If others changed a directory since, keep its time.
  std::vector<Parent> unmoved;
  std::vector<size_t> touched;
  for (size_t i = 0; i < promotion.parents.size(); ++i) {
    const Parent& each = promotion.parents[i];
    if (i < promotion.parents_left_ns.size() &&
        IsAsLeft(returned, each, LeftAt(each, realities), promotion.parents_left_ns[i]))
      unmoved.push_back(each);
    else
      touched.push_back(i);
  }
  ASSIGN_OR_RETURN(Journal journal, Journal::Reopen(entry.directory.get()));
  const bool forced = std::ranges::any_of(promotion.steps, &Step::forced);
  CLOCHE_TRY(BeginUndo(promotion, forced, journal, entry, realities));
  Restored restored;
  const std::vector<std::string> problems =
      RevertAll(promotion.steps, unmoved, entry, realities, root, &restored);
  if (problems.empty()) {
    CLOCHE_TRY(Close(journal, promotion, PromotionState::kUndone, entry, realities, touched));
    return promotion;
  }
  if (!forced && Redo(promotion, restored, journal, entry, realities, root))
    return Fail(Code::kConflict, "undo " + id + ": " + problems[0] + "; nothing was undone",
                "look at it, then try again");
  (void)SyncReality(promotion, entry, realities);
  return Fail(Code::kConflict, "undo " + id + ": not yet as it was: " + problems[0],
              "what could be taken back was; the rest is tried again with the next promotion");
}

Result<std::vector<Promotion>> ListPromotions(const Store& store) {
  std::vector<Promotion> list;
  for (const std::string& id : store.List()) {
    const auto entry = store.OpenEntry(id);
    if (!entry) continue;
    auto promotion = Journal::ReadHead(entry->directory.get(), id);
    if (promotion) list.push_back(std::move(*promotion));
  }
  return list;
}

}  // namespace cloche::apply
