#include "daemon/time_travel.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "daemon/sandbox_json.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cloche::daemon {
namespace {

using State = Sandbox::State;

constexpr size_t kMostSnapshots = 1000;  // of one sandbox
constexpr size_t kAutomaticKept = 50;    // of one sandbox, the newest
constexpr size_t kAbandonedKept = 10;    // of one sandbox, the newest

bool IsAutomatic(const Snapshot& snapshot) {
  return snapshot.kind == SnapshotKind::kCommand || snapshot.kind == SnapshotKind::kTime;
}

Status CheckCanSave(const Sandbox& sandbox) {
  if (!sandbox.terms().keep())
    return Fail(Code::kConflict, "save " + sandbox.id + ": it is disposable",
                "make one that stays: cloche new");
  if (sandbox.terms().planned().plan.in_memory)
    return Fail(Code::kUnavailable, "save " + sandbox.id + ": its changes are kept in memory",
                "make one without --in-memory and --inodes (rootless also without --disk)");
  if (sandbox.state() == State::kGoing || sandbox.state() == State::kStarting)
    return Fail(Code::kNotFound, "save " + sandbox.id + ": it is being made or removed",
                "cloche ls shows the ones there are");
  return {};
}

Status CheckHoldsServices(const Sandbox& sandbox, const Snapshot& snapshot) {
  for (const ServiceRequest& service : sandbox.terms().request().services)
    if (IsOlder(snapshot, service))
      return Fail(
          Code::kConflict,
          fmt::format("roll back {}: {} was saved before the data of its service {} was "
                      "copied",
                      sandbox.id, snapshot.id, service.name),
          fmt::format("cloche fork {} makes a sandbox of it, without the service", snapshot.id));
  return {};
}

}  // namespace

// `missing`: ids, one per line. Their saves or rollbacks did not happen.
Status TimeTravel::ForgetMissing(const std::string& missing) {
  for (size_t at = 0; at < missing.size();) {
    const size_t end = std::min(missing.find('\n', at), missing.size());
    const Snapshot* found = snapshots_.Get(missing.substr(at, end - at));
    at = end + 1;
    if (!found) continue;
    const Snapshot snapshot = *found;
    // The sandbox's record describes the moment after; put it back to where it was.
    if (auto owner = table_.all().find(snapshot.sandbox);
        owner != table_.all().end() && (snapshot.kind == SnapshotKind::kRollback ||
                                        owner->second->history().head() == snapshot.id)) {
      owner->second->history().MoveTo(snapshot.parent, false);
      CLOCHE_TRY(table_.Save(*owner->second));
    }
    CLOCHE_TRY(table_.registry().RemoveSnapshot(snapshot.id));
    snapshots_.Unlink(snapshot);
  }
  return {};
}

// Files without a record are left over from a crash during a save or removal; a record without
// files is a save or rollback that did not happen.
Task<Status> TimeTravel::Reconcile() {
  auto rows = table_.registry().AllSnapshots();
  if (!rows) co_return std::unexpected(rows.error());
  std::string known;
  for (const Registry::SnapshotRow& row : *rows) {
    known += row.id + "\n";
    snapshots_.Put(Snapshot::FromRow(row));
  }
  sys::Fd memory(sys::SealedMemfd("snapshots", known.data(), known.size()));
  if (!memory.valid()) co_return Fail(Code::kInternal, "list snapshots: out of memory");
  std::vector<int> fds(1, memory.get());
  SpawnAnswer answer = co_await spawn_.Call("sb_none", ask::Retain(), fds);
  if (answer.reply.value != 0) co_return std::unexpected(machine_.Explain(answer));
  std::string missing;
  if (answer.fds.size() != 1 || sys::ReadAll(answer.fds[0].get(), missing, 64 << 20) < 0)
    co_return Fail(Code::kInternal, "list snapshots: cloche-spawn sent no answer");
  CLOCHE_CO_TRY(ForgetMissing(missing));
  // A sandbox that was being removed takes its snapshots with it.
  std::vector<Snapshot> orphans;
  for (const auto& [id, snapshot] : snapshots_.all())
    if (!table_.Contains(snapshot.sandbox)) orphans.push_back(snapshot);
  for (const Snapshot& snapshot : orphans) (void)co_await Forget(snapshot);
  snapshots_.ForgetLostParents();
  co_return Status{};
}

Task<Result<Snapshot>> TimeTravel::Take(std::shared_ptr<Sandbox> sandbox, SnapshotRequest request,
                                        SnapshotKind kind, StepTimer* steps) {
  const Turn turn = co_await TakeTurn(sandbox);
  co_return co_await Save(sandbox, std::move(request), kind, steps);
}

Task<Result<Snapshot>> TimeTravel::Save(std::shared_ptr<Sandbox> sandbox, SnapshotRequest request,
                                        SnapshotKind kind, StepTimer* steps) {
  CLOCHE_CO_TRY(CheckCanSave(*sandbox));
  const std::vector<Snapshot> others = snapshots_.Of(*sandbox);
  if (others.size() >= kMostSnapshots)
    co_return Fail(
        Code::kExhausted, fmt::format("save {}: it has {} snapshots", sandbox->id, others.size()),
        "remove some: cloche snapshots " + sandbox->id + ", then cloche snapshots rm ID");
  for (const Snapshot& other : others)
    if (!request.name.empty() && other.name == request.name)
      co_return Fail(
          Code::kConflict,
          fmt::format("save {}: the name {} is taken by {}", sandbox->id, request.name, other.id),
          "choose another name");
  Snapshot snapshot;
  snapshot.id = NewId("sn_");
  snapshot.sandbox = sandbox->id;
  snapshot.owner = sandbox->owner;
  snapshot.name = std::move(request.name);
  snapshot.note = std::move(request.note);
  snapshot.parent = sandbox->history().head();
  snapshot.kind = kind;
  if (kind == SnapshotKind::kCommand) snapshot.command = sandbox->commands().started() + 1;
  auto paused = co_await sandbox->init().Pause();
  if (!paused) co_return std::unexpected(paused.error());
  // Record and files are written to disk concurrently. If only one of them gets there, the next
  // start repairs it.
  flusher_.Saved(sandbox->id);
  auto saving = spawn_.Send(sandbox->id, ask::Snapshot{WireId(snapshot.id)});
  Status stored;
  const std::string head_before = sandbox->history().head();
  const bool was_current = sandbox->history().is_current();
  if (kind != SnapshotKind::kFork) {
    sandbox->history().MoveTo(snapshot.id, sandbox->commands().running() == 0);
    std::vector<Registry::Row> rows(1, table_.RowOf(*sandbox));
    std::vector<Registry::SnapshotRow> saved(1, snapshot.ToRow());
    stored = table_.registry().Put(rows, saved);
  }
  SpawnAnswer answer = co_await Spawn::Finish(std::move(saving));
  if (*paused) sandbox->init().Resume();
  if (answer.reply.value != 0 || !stored) {
    sandbox->history().MoveTo(head_before, was_current);
    if (stored && kind != SnapshotKind::kFork && !spawn_.lost()) {
      (void)table_.registry().RemoveSnapshot(snapshot.id);
      (void)table_.Save(*sandbox);
    }
    if (answer.reply.value != 0) co_return std::unexpected(machine_.Explain(answer));
    (void)co_await spawn_.Call(sandbox->id, ask::DropSnapshot(WireId(snapshot.id)));
    co_return std::unexpected(stored.error());
  }
  if (steps) {
    const auto spent = [&](SpawnTiming step) { return answer.reply.timing_us[step] / 1000.0; };
    steps->Add("flush", spent(kTimeFlush));
    steps->Add("freeze", spent(kTimeFreeze));
    steps->Add("save", spent(kTimeSave));
  }
  sandbox->history().NoteSave();
  snapshots_.Put(snapshot);
  if (steps) steps->Mark("snapshot, whole");
  PruneLater(sandbox);
  co_return snapshot;
}

// The record first: files without one are removed at the next start at the latest.
Status TimeTravel::ForgetRecord(Snapshot snapshot) {
  auto found = table_.all().find(snapshot.sandbox);
  if (found != table_.all().end() && found->second->history().head() == snapshot.id) {
    Sandbox& sandbox = *found->second;
    const bool was_current = sandbox.history().is_current();
    sandbox.history().MoveTo(snapshot.parent, false);
    if (Status saved = table_.Save(sandbox); !saved) {
      sandbox.history().MoveTo(snapshot.id, was_current);
      return saved;
    }
  }
  CLOCHE_TRY(table_.registry().RemoveSnapshot(snapshot.id));
  snapshots_.Unlink(snapshot);
  return {};
}

Task<Status> TimeTravel::DropFiles(Dropped dropped) {
  SpawnAnswer answer =
      co_await spawn_.Call(dropped.sandbox, ask::DropSnapshot(WireId(dropped.snapshot)));
  if (answer.reply.value == 0) co_return Status{};
  if (!spawn_.lost()) undropped_.push_back(std::move(dropped));
  co_return std::unexpected(machine_.Explain(answer));
}

void TimeTravel::DropLater(const Snapshot& snapshot) {
  Dropped dropped{snapshot.sandbox, snapshot.id};
  asio::co_spawn(io_, DropFiles(std::move(dropped)), kDetached);
}

Task<Status> TimeTravel::Forget(Snapshot snapshot) {
  CLOCHE_CO_TRY(ForgetRecord(snapshot));
  Dropped dropped{snapshot.sandbox, snapshot.id};
  co_return co_await DropFiles(std::move(dropped));
}

Task<Status> TimeTravel::Drop(Snapshot snapshot) {
  auto found = table_.all().find(snapshot.sandbox);
  if (found == table_.all().end()) co_return NoMore(snapshot);
  const Turn turn = co_await TakeTurn(found->second);
  const Snapshot* now = snapshots_.Get(snapshot.id);
  if (!now) co_return NoMore(snapshot);
  co_return co_await Forget(*now);
}

Task<void> TimeTravel::DropAll(std::shared_ptr<Sandbox> sandbox) {
  for (const Snapshot& snapshot : snapshots_.Of(*sandbox)) (void)co_await Forget(snapshot);
}

// One at a time: the disk may stay full for long.
void TimeTravel::DropAgain() {
  if (undropped_.empty()) return;
  asio::co_spawn(io_, DropFiles(std::move(undropped_.front())), kDetached);
  undropped_.pop_front();
}

// In the background: the files of a large snapshot take long.
void TimeTravel::PruneLater(std::shared_ptr<Sandbox> sandbox) {
  asio::co_spawn(io_, Prune(std::move(sandbox)), kDetached);
}

Task<void> TimeTravel::Prune(std::shared_ptr<Sandbox> sandbox) {
  const Turn turn = co_await TakeTurn(sandbox);
  size_t automatic = 0, abandoned = 0;
  std::vector<Snapshot> list = snapshots_.Of(*sandbox);
  std::ranges::reverse(list);
  for (const Snapshot& snapshot : list) {
    const bool old = (IsAutomatic(snapshot) && ++automatic > kAutomaticKept) ||
                     (snapshot.kind == SnapshotKind::kRollback && ++abandoned > kAbandonedKept);
    if (!old) continue;
    const Snapshot* now = snapshots_.Get(snapshot.id);  // its parent may be new
    if (now && ForgetRecord(*now)) DropLater(snapshot);
  }
}

Task<Result<Json>> TimeTravel::Rollback(std::shared_ptr<Sandbox> sandbox, RollbackRequest request) {
  const Turn turn = co_await TakeTurn(sandbox);
  CLOCHE_CO_TRY(CheckCanSave(*sandbox));
  if (sandbox->state() == State::kEnded)
    co_return Fail(Code::kConflict,
                   fmt::format("roll back {}: it has ended ({})", sandbox->id, sandbox->reason()),
                   "its snapshots can still be forked: cloche fork SNAPSHOT");
  auto target = snapshots_.Choose(*sandbox, request);
  if (!target) co_return std::unexpected(target.error());
  CLOCHE_CO_TRY(CheckReadable(*target));
  CLOCHE_CO_TRY(CheckHoldsServices(*sandbox, *target));
  const Birth birth_before = sandbox->birth();
  sandbox->birth().RollBackTo(target->created);
  const std::string why = "rolled back to " + (target->name.empty() ? target->id : target->name);
  Snapshot abandoned;
  abandoned.id = NewId("sn_");
  abandoned.sandbox = sandbox->id;
  abandoned.owner = sandbox->owner;
  abandoned.note = "before " + target->id;
  abandoned.parent = sandbox->history().head();
  abandoned.kind = SnapshotKind::kRollback;
  // Recorded while its processes end, before its files move: otherwise they would look like
  // leftovers of a crash.
  auto ending = spawn_.Send(sandbox->id, ask::Kill{.brief = 1});
  std::optional<Sandbox::Stopping> stopping(std::in_place, *sandbox);
  const bool ran = sandbox->runs();
  History then = sandbox->history();
  then.MoveTo(target->id, true);
  std::vector<Registry::Row> rows(1, table_.RowOf(*sandbox, State::kStopped, why, then));
  std::vector<Registry::SnapshotRow> saved(1, abandoned.ToRow());
  const Status stored = table_.registry().Put(rows, saved);
  SpawnAnswer answer = co_await Spawn::Finish(std::move(ending));
  stopping.reset();
  if (ran) sandbox->Detach(why);
  CLOCHE_CO_TRY(sandbox->Transition(State::kStopped, "stopped by a rollback that failed"));
  flusher_.Saved(sandbox->id);
  if (stored && answer.reply.value == 0)
    answer =
        co_await spawn_.Call(sandbox->id, ask::Rollback(WireId(target->id), WireId(abandoned.id)));
  if (!stored || answer.reply.value != 0) {
    // Without spawn the result is unknown: the next start finds out.
    if (stored && !spawn_.lost()) (void)table_.registry().RemoveSnapshot(abandoned.id);
    sandbox->birth() = birth_before;
    if (!spawn_.lost()) (void)table_.Save(*sandbox);
    if (!stored) co_return std::unexpected(stored.error());
    co_return std::unexpected(machine_.Explain(answer));
  }
  snapshots_.Put(abandoned);
  sandbox->history().MoveTo(target->id, true);
  CLOCHE_CO_TRY(sandbox->Transition(State::kStopped, why));
  PruneLater(sandbox);
  Json json = SandboxJson(*sandbox);
  json["rolled_back_to"] = target->ToJson();
  json["kept_as"] = abandoned.ToJson();
  json["save_ms"] = answer.reply.timing_us[kTimeSave] / 1000.0;
  co_return json;
}

}  // namespace cloche::daemon
