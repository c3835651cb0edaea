#include "promoter/promote.h"

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
#include "promoter/annex.h"
#include "promoter/doubt.h"
#include "promoter/durable.h"
#include "promoter/prune.h"
#include "promoter/witness.h"
#include "sys/directory.h"

namespace cloche::promoter {

std::function<void(size_t done, size_t of)> on_progress;

namespace {

constexpr size_t kMostDoubts = 20;  // said one by one

Status OpenAll(Promotion& promotion, Realities& realities, Store::Entry& entry) {
  for (const Step& step : promotion.steps) CLOCHE_TRY(OpenReality(realities, step.target));
  for (const Parent& each : promotion.parents) CLOCHE_TRY(OpenReality(realities, each.target));
  for (const Witness& each : promotion.witnesses)
    if (each.kind == WitnessKind::kTarget) CLOCHE_TRY(OpenReality(realities, each.target));
  CLOCHE_TRY(OpenAnnexes(promotion, realities, entry));
  return Recognize(promotion, entry, realities);
}

std::string DoubtCure(const std::string& id) {
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

// The times of change that files got when they were put back, by step.
using Restored = std::map<uint64_t, int64_t>;

// An undo that cannot go on: what it took back is done again.
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
        (*restored)[step.number] = SettledAt(step, realities);
    }
  // What went in and out changed their times.
  for (const Step& step : backwards)
    if (step.kind == StepKind::kSetDir) note(Revert(step, entry, realities, root));
  for (const Parent& each : parents) note(Revert(each, realities));
  return problems;
}

void Settle(Promotion& promotion, const Store::Entry& entry, const Realities& realities) {
  promotion.settled_ns.clear();
  for (const Step& step : promotion.steps)
    promotion.settled_ns.push_back(SettledAt(step, realities));
  promotion.parents_settled_ns.clear();
  for (const Parent& each : promotion.parents)
    promotion.parents_settled_ns.push_back(SettledAt(each, realities));
  promotion.linked_settled_ns.clear();
  for (const Step& step : promotion.steps)
    if (const int64_t changed_ns = LinkedAt(step, entry); changed_ns != 0)
      promotion.linked_settled_ns[step.number] = changed_ns;
  promotion.kept_settled_ns.clear();
  if (promotion.annexes.empty()) return;  // in the store nobody but us writes
  for (const Step& step : promotion.steps) promotion.kept_settled_ns.push_back(KeptAt(step, entry));
}

// It is as it was: down on disk, then in the journal. `moved`: parents that others have changed.
Status Close(Journal& journal, Promotion& promotion, PromotionState state,
             const Store::Entry& entry, const Realities& realities,
             const std::vector<size_t>& moved = {}) {
  CLOCHE_TRY(SyncReality(promotion, entry, realities));
  Settle(promotion, entry, realities);
  for (const size_t i : moved) promotion.parents_settled_ns[i] = 0;
  CLOCHE_TRY(journal.WriteSettled(promotion));
  CLOCHE_TRY(journal.WriteState(state));
  CLOCHE_TRY(journal.Sync());
  promotion.state = state;
  DropStaged(promotion, entry);
  return {};
}

bool SettledBefore(const Promotion& promotion, int64_t moment_ns) {
  const auto before = [&](int64_t settled_ns) { return settled_ns < moment_ns; };
  return std::ranges::all_of(promotion.settled_ns, before) &&
         std::ranges::all_of(promotion.parents_settled_ns, before);
}

void Enter(const Parent& parent, int64_t settled_ns, Wish& wish) {
  const Identity& before = parent.before;
  const auto earlier = wish.entered.find(parent.path);
  const auto known = wish.promoted.find(parent.path);
  const bool only_ours =
      WithoutTouches(wish, before).changed_ns < wish.since_ns ||
      (earlier != wish.entered.end() && earlier->second.only_ours &&
       earlier->second.now == WithoutTouches(wish, before, earlier->second.now.changed_ns)) ||
      (known != wish.promoted.end() && known->second.changed_ns < wish.since_ns &&
       known->second.now == WithoutTouches(wish, before, known->second.now.changed_ns));
  wish.entered[parent.path] = {{before.device, before.inode, settled_ns}, only_ours};
}

// Another sandbox's promotion. What it merged onto a merge of this one holds both: whoever promotes
// next may merge onto it as well.
void FollowMerges(const Promotion& other, Wish& wish) {
  for (size_t i = 0; i < other.steps.size() && i < other.settled_ns.size(); ++i) {
    const Step& step = other.steps[i];
    if (step.details().merged_from != kMerged) continue;
    const auto found = wish.promoted.find(step.path);
    if (found != wish.promoted.end() && found->second.merged_from == kMerged &&
        found->second.now == step.before)
      found->second.now = {step.staged.device, step.staged.inode, other.settled_ns[i]};
  }
}

// What earlier promotions left, by path. Of this sandbox's own it is no change of reality's; what
// was taken back is as old as it was before.
Status FindPromoted(const Store& store, const std::string& sandbox, Wish& wish) {
  bool merges = false;
  for (const std::string& id : store.List()) {
    const auto entry = store.OpenEntry(id);
    if (!entry) continue;
    const auto head = Journal::ReadHead(entry->directory.get(), id);
    if (!head) continue;  // its paths will look changed by others: that is the safe side
    const bool done = head->state == PromotionState::kDone;
    const auto ancestor = wish.ancestors.find(head->sandbox);
    if (head->sandbox != sandbox && ancestor == wish.ancestors.end() && done && !merges) continue;
    ASSIGN_OR_RETURN(const Promotion earlier, Journal::Read(entry->directory.get(), id));
    const bool own = head->sandbox == sandbox ||
                     (ancestor != wish.ancestors.end() && SettledBefore(earlier, ancestor->second));
    if (done && !own) {
      FollowMerges(earlier, wish);
      continue;
    }
    for (size_t i = 0; i < earlier.parents.size() && i < earlier.parents_settled_ns.size(); ++i) {
      const Parent& each = earlier.parents[i];
      if (done)
        Enter(each, earlier.parents_settled_ns[i], wish);
      else if (earlier.parents_settled_ns[i] != 0)
        wish.touched[{each.before.inode, earlier.parents_settled_ns[i]}] = each.before.changed_ns;
    }
    for (size_t i = 0; i < earlier.steps.size() && i < earlier.settled_ns.size(); ++i) {
      const Step& step = earlier.steps[i];
      const auto linked = earlier.linked_settled_ns.find(step.number);
      const int64_t touched_ns = !done                                       ? earlier.settled_ns[i]
                                 : linked != earlier.linked_settled_ns.end() ? linked->second
                                                                             : 0;
      if (done && touched_ns != 0) ++wish.kept_names[step.before.inode];
      if (step.before.exists() && touched_ns != 0)
        wish.touched[{step.before.inode, touched_ns}] = step.before.changed_ns;
      // Of a directory that stays, the status was set; one that was made has a step of its own.
      const bool status = step.kind == StepKind::kSetDir;
      if (status && step.staged.exists()) continue;
      if (done && !status && step.before.exists()) wish.taken.emplace(step.before.inode, step.path);
      const Identity& left = done && !status ? step.staged : step.before;
      // Taken back: where something else was, another step tells.
      if (!left.exists() && !done) continue;
      Promoted& promoted = wish.promoted[step.path];
      if (!left.exists()) {
        promoted = {};
        continue;
      }
      // To another sandbox what this one's promotion made is as new as it is.
      const bool known = own || step.before_changed_ns != 0;
      const int64_t changed_ns = known                         ? step.before_changed_ns
                                 : promoted.now == step.before ? promoted.changed_ns
                                                               : step.before.changed_ns;
      promoted.now = {left.device, left.inode, earlier.settled_ns[i]};
      promoted.changed_ns = done ? 0 : changed_ns;
      promoted.merged_from = done ? step.details().merged_from : step.details().before_merged_from;
      merges = merges || promoted.merged_from == kMerged;
      if (!done || status) continue;
      promoted.made = true;
      promoted.modified_ns = step.staged_modified_ns;
      promoted.size = step.staged_size;
    }
  }
  return {};
}

// A later promotion that was taken back has given it another time, or another of its names.
int64_t SettledOr(const Wish& returned, const Step& step, int64_t settled_ns,
                  const Realities& realities) {
  const auto found = returned.promoted.find(step.path);
  if (found != returned.promoted.end() && found->second.changed_ns == settled_ns)
    settled_ns = found->second.now.changed_ns;
  const Identity now{step.staged.device, step.staged.inode, SettledAt(step, realities)};
  return WithoutTouches(returned, now, settled_ns).changed_ns == settled_ns ? now.changed_ns
                                                                            : settled_ns;
}

// Nobody but promotions that were taken back has changed it since.
bool IsAsLeft(const Wish& returned, const Parent& parent, int64_t now_ns, int64_t settled_ns) {
  const Identity now{parent.before.device, parent.before.inode, now_ns};
  return now_ns == 0 || WithoutTouches(returned, now, settled_ns).changed_ns == settled_ns;
}

// What others have put into directories that the promotion made keeps those from going.
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
  if (!opened) return left_over();  // not even its directories were made
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
  recovered.problems = FindDoubts(promotion, entry, realities);
  if (!recovered.problems.empty()) {
    if (const size_t more = recovered.problems.size(); more > kMostDoubts) {
      recovered.problems.resize(kMostDoubts);
      recovered.problems.push_back(fmt::format("and {} more", more - kMostDoubts));
    }
    recovered.cure = DoubtCure(id);
    return {};
  }
  if (state == PromotionState::kApplied &&
      std::ranges::all_of(promotion.steps,
                          [&](const Step& step) { return IsDone(step, entry, realities); })) {
    // Attributes and times of directories are not looked at: set again, they are what they shall
    // be.
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

Result<Outcome> Promote(Store& store, const StateLayout& layout, Wish wish, Base& base,
                        const std::string& sandbox, bool dry_run) {
  CLOCHE_TRY(FindPromoted(store, sandbox, wish));
  ASSIGN_OR_RETURN(Plan plan, MakePlan(layout, wish, base));
  Outcome outcome;
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
  const auto give_up = [&](Error error) -> Result<Outcome> {
    (void)RemovePromotion(store, entry.id);
    promotion.id.clear();
    return std::unexpected(std::move(error));
  };
  auto journal = Journal::Create(entry.directory.get());
  if (!journal) return give_up(journal.error());
  const Status staged = Stage(outcome.changes, std::move(plan.wanted), wish, *journal, entry,
                              realities, promotion, outcome.conflicts);
  if (!staged) return give_up(staged.error());
  if (!outcome.conflicts.empty()) {
    (void)RemovePromotion(store, entry.id);
    promotion.id.clear();
    return outcome;
  }
  // Before this has returned nothing of reality is touched.
  promotion.witnesses = FindWitnesses(promotion, entry, realities);
  Status ready = journal->WritePlan(promotion);
  if (ready) ready = SyncStaged(promotion, entry, realities);
  if (!ready) return give_up(ready.error());

  Status applied = ApplyAll(promotion, entry, realities, wish.root);
  if (applied) {
    Settle(promotion, entry, realities);
    applied = journal->WriteSettled(promotion);
  }
  if (applied) applied = journal->WriteState(PromotionState::kApplied);
  if (applied) applied = SyncReality(promotion, entry, realities);
  if (applied) {
    // Whether it gets down or not: whoever finds it missing looks, and finds all of it done.
    (void)journal->WriteState(PromotionState::kDone);
    promotion.state = PromotionState::kDone;
    return outcome;
  }
  // Back to where it was. What cannot be taken back now is taken back at the next start.
  (void)journal->WriteState(PromotionState::kApplying);
  const std::vector<std::string> problems =
      RevertAll(promotion.steps, promotion.parents, entry, realities, wish.root);
  Status closed = problems.empty()
                      ? Close(*journal, promotion, PromotionState::kReverted, entry, realities)
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

Result<Promotion> Undo(Store& store, const std::string& id, bool root,
                       const std::vector<std::string>& force, std::vector<std::string>& moved) {
  ASSIGN_OR_RETURN(Store::Entry entry, store.OpenEntry(id));
  ASSIGN_OR_RETURN(Promotion promotion, Journal::Read(entry.directory.get(), id));
  if (promotion.state != PromotionState::kDone)
    return Fail(Code::kConflict, fmt::format("undo {}: it is {}", id, StateName(promotion.state)),
                "cloche promotions shows which are done");
  Realities realities;
  CLOCHE_TRY(OpenAll(promotion, realities, entry));
  std::set<std::string_view> made;  // also where something else was
  for (const Step& step : promotion.steps)
    if (step.kind == StepKind::kCreate) made.insert(step.path);
  Wish returned;
  CLOCHE_TRY(FindPromoted(store, "", returned));
  for (size_t i = 0; i < promotion.steps.size(); ++i) {
    Step& step = promotion.steps[i];
    if (step.kind == StepKind::kDelete && made.contains(step.path)) continue;
    if (i < promotion.settled_ns.size() &&
        StillOurs(step, SettledOr(returned, step, promotion.settled_ns[i], realities), realities))
      continue;
    if (std::ranges::find(force, step.path) == force.end()) {
      moved.push_back(step.path);
      continue;
    }
    step.forced = true;
    const auto at = realities.at(step.target).Find(step.path);
    step.staged = at ? IdentityAt(at->directory->get(), at->name) : Identity();
  }
  FindStrangers(promotion, realities, force, moved);
  if (!moved.empty()) return promotion;
  if (const auto doubts = FindDoubts(promotion, entry, realities); !doubts.empty())
    return Fail(
        Code::kConflict,
        fmt::format("undo {}: {}{}", id, doubts[0],
                    doubts.size() == 1 ? "" : fmt::format(" (and {} more)", doubts.size() - 1)),
        DoubtCure(id));
  // Where others came and went since, the time tells of them.
  std::vector<Parent> unmoved;
  std::vector<size_t> touched;
  for (size_t i = 0; i < promotion.parents.size(); ++i) {
    const Parent& each = promotion.parents[i];
    if (i < promotion.parents_settled_ns.size() &&
        IsAsLeft(returned, each, SettledAt(each, realities), promotion.parents_settled_ns[i]))
      unmoved.push_back(each);
    else
      touched.push_back(i);
  }
  ASSIGN_OR_RETURN(Journal journal, Journal::Reopen(entry.directory.get()));
  Status begun;
  const bool forced = std::ranges::any_of(promotion.steps, &Step::forced);
  // What is there now has the numbers of now.
  if (forced) begun = journal.WriteWitnesses(FindWitnesses(promotion, entry, realities));
  for (const Step& step : promotion.steps)
    if (begun && step.forced) begun = journal.WriteForced(step);
  if (begun) begun = journal.WriteState(PromotionState::kUndoing);
  if (begun) begun = journal.Sync();
  if (!begun) {
    (void)journal.WriteState(PromotionState::kDone);
    begun.error().cure = "nothing was undone";
    return std::unexpected(begun.error());
  }
  Restored restored;
  const std::vector<std::string> problems =
      RevertAll(promotion.steps, unmoved, entry, realities, root, &restored);
  if (!problems.empty() && !forced) {
    Status again = ApplyAgain(promotion, restored, entry, realities, root);
    Settle(promotion, entry, realities);
    if (again) again = journal.WriteSettled(promotion);
    // As when it was promoted: done is what is on disk.
    if (again) again = journal.WriteState(PromotionState::kApplied);
    if (again) again = SyncReality(promotion, entry, realities);
    if (again) {
      (void)journal.WriteState(PromotionState::kDone);
      return Fail(Code::kConflict, "undo " + id + ": " + problems[0] + "; nothing was undone",
                  "look at it, then try again");
    }
    (void)journal.WriteState(PromotionState::kUndoing);
  }
  if (!problems.empty()) {
    (void)SyncReality(promotion, entry, realities);
    return Fail(Code::kConflict, "undo " + id + ": not yet as it was: " + problems[0],
                "what could be taken back was; the rest is tried again with the next promotion");
  }
  CLOCHE_TRY(Close(journal, promotion, PromotionState::kUndone, entry, realities, touched));
  return promotion;
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

}  // namespace cloche::promoter
