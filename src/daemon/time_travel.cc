#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "base/text.h"
#include "daemon/engine.h"
#include "policy/stored_request.h"
#include "sys/file.h"
#include "sys/process.h"

// Saved states: taken, returned to, copied into new sandboxes, pruned.
namespace cloche::daemon {
namespace {

using State = Sandbox::State;

// There are 8,192 id ranges for all users of a machine: one of them does not get them all.
constexpr size_t kMostOfOneUser = 2000;
constexpr size_t kMostSnapshots = 1000;  // of one sandbox
constexpr size_t kAutomaticKept = 50;    // of one sandbox, the newest
constexpr size_t kAbandonedKept = 10;    // likewise
constexpr size_t kForksAtOnce = 16;      // one commit of the pool serves several

bool IsAutomatic(const Snapshot& snapshot) {
  return snapshot.kind == SnapshotKind::kCommand || snapshot.kind == SnapshotKind::kTime;
}

Status CheckCanSave(const Sandbox& sandbox) {
  if (!sandbox.keep)
    return Fail(Code::kConflict, "save " + sandbox.id + ": it is disposable",
                "make one that stays: cloche new");
  if (sandbox.planned.plan.in_memory)
    return Fail(Code::kUnavailable, "save " + sandbox.id + ": its changes are kept in memory",
                "make one without --in-memory and --inodes (rootless also without --disk)");
  if (sandbox.state == State::kGoing || sandbox.state == State::kStarting)
    return Fail(Code::kNotFound, "save " + sandbox.id + ": it is being made or removed",
                "cloche ls shows the ones there are");
  return {};
}

// Its data was copied later: in such a state it would run on the live files below.
bool IsOlder(const Snapshot& snapshot, const ServiceRequest& service) {
  return snapshot.created <
         std::chrono::system_clock::time_point(std::chrono::milliseconds(service.since_ms));
}

Status CheckHoldsServices(const Sandbox& sandbox, const Snapshot& snapshot) {
  for (const ServiceRequest& service : sandbox.request.services)
    if (IsOlder(snapshot, service))
      return Fail(
          Code::kConflict,
          fmt::format("roll back {}: {} was saved before the data of its service {} was "
                      "copied",
                      sandbox.id, snapshot.id, service.name),
          fmt::format("cloche fork {} makes a sandbox of it, without the service", snapshot.id));
  return {};
}

std::unexpected<Error> NoMore(const Snapshot& snapshot) {
  return Fail(Code::kNotFound, "find snapshot: " + snapshot.id + " was removed just now",
              "cloche snapshots SANDBOX shows the ones there are");
}

}  // namespace

Turn::Turn(asio::io_context& io, std::shared_ptr<Sandbox> sandbox) : sandbox_(std::move(sandbox)) {
  sandbox_->turn = std::make_shared<Event>(io);
}

Turn::~Turn() {
  if (!sandbox_) return;  // moved from
  auto over = std::move(sandbox_->turn);
  over->Set();
}

Task<Turn> Engine::TakeTurn(std::shared_ptr<Sandbox> sandbox) {
  while (auto taken = sandbox->turn) co_await taken->Wait();
  co_return Turn(io_, std::move(sandbox));
}

Status Engine::CheckNewNames(const std::vector<std::string>& names, size_t count,
                             const Client& client) const {
  size_t own = 0;
  for (const auto& [id, other] : sandboxes_) {
    if (other->owner != client.peer.uid) continue;
    ++own;
    if (!other->name.empty() && std::ranges::find(names, other->name) != names.end())
      return Fail(Code::kConflict,
                  fmt::format("make sandbox: the name {} is taken by {}", other->name, id),
                  fmt::format("choose another name, or remove it: cloche rm {}", other->name));
  }
  if (own + count <= kMostOfOneUser) return {};
  return Fail(Code::kExhausted,
              fmt::format("make sandbox: you have {}, the most is {}", own, kMostOfOneUser),
              "remove some: cloche ls, then cloche rm");
}

// Files without a record are what a crash left of a save or of a removal; a record without files
// is a save or a rollback that did not happen.
Task<Status> Engine::Reconcile() {
  auto rows = registry_.AllSnapshots();
  if (!rows) co_return std::unexpected(rows.error());
  std::string known;
  for (const Registry::SnapshotRow& row : *rows) {
    known += row.id + "\n";
    snapshots_[row.id] = Snapshot::FromRow(row);
  }
  sys::Fd memory(sys::SealedMemfd("snapshots", known.data(), known.size()));
  if (!memory.valid()) co_return Fail(Code::kInternal, "list snapshots: out of memory");
  std::vector<int> fds(1, memory.get());
  SpawnAnswer answer = co_await spawn_.Call(SpawnOp::kRetain, "sb_none", 0, std::move(fds));
  if (answer.reply.value != 0) co_return std::unexpected(Explained(answer));
  std::string missing;
  if (answer.fds.size() != 1 || sys::ReadAll(answer.fds[0].get(), missing, 64 << 20) < 0)
    co_return Fail(Code::kInternal, "list snapshots: cloche-spawn sent no answer");
  for (size_t at = 0; at < missing.size();) {
    const size_t end = std::min(missing.find('\n', at), missing.size());
    const auto found = snapshots_.find(missing.substr(at, end - at));
    at = end + 1;
    if (found == snapshots_.end()) continue;
    const Snapshot snapshot = found->second;
    // The sandbox's record is of the moment after: it stands where it stood before.
    if (auto owner = sandboxes_.find(snapshot.sandbox);
        owner != sandboxes_.end() &&
        (snapshot.kind == SnapshotKind::kRollback || owner->second->head == snapshot.id)) {
      owner->second->head = snapshot.parent;
      owner->second->head_is_current = false;
      CLOCHE_CO_TRY(Save(*owner->second));
    }
    CLOCHE_CO_TRY(registry_.RemoveSnapshot(snapshot.id));
    Unlink(snapshot);
  }
  // A sandbox that was being removed takes its snapshots with it.
  std::vector<Snapshot> orphans;
  for (const auto& [id, snapshot] : snapshots_)
    if (!sandboxes_.contains(snapshot.sandbox)) orphans.push_back(snapshot);
  for (const Snapshot& snapshot : orphans) (void)co_await Forget(snapshot);
  for (auto& [id, snapshot] : snapshots_)
    if (!snapshots_.contains(snapshot.parent)) snapshot.parent.clear();
  co_return Status{};
}

// The tree stays one: what grew on it grows on its parent now. Which record says so on disk does
// not matter much: a parent that is gone is the base.
void Engine::Unlink(const Snapshot& snapshot) {
  snapshots_.erase(snapshot.id);
  for (auto& [id, other] : snapshots_) {
    if (other.parent != snapshot.id) continue;
    other.parent = snapshot.parent;
    if (sandboxes_.contains(other.sandbox)) (void)registry_.PutSnapshot(other.ToRow());
  }
}

std::vector<Snapshot> Engine::SnapshotsOf(const Sandbox& sandbox) const {
  std::vector<Snapshot> list;
  for (const auto& [id, snapshot] : snapshots_)
    if (snapshot.sandbox == sandbox.id && snapshot.kind != SnapshotKind::kFork)
      list.push_back(snapshot);
  std::ranges::sort(list, {}, &Snapshot::created);
  return list;
}

Result<Snapshot> Engine::FindSnapshot(const std::string& ref, const Client& client) const {
  std::vector<const Snapshot*> found;
  for (const auto& [id, snapshot] : snapshots_) {
    if (snapshot.owner != client.peer.uid || snapshot.kind == SnapshotKind::kFork) continue;
    if (id == ref) return snapshot;
    if (!ref.empty() &&
        (snapshot.name == ref || id.starts_with(ref) || id.starts_with("sn_" + ref)))
      found.push_back(&snapshot);
  }
  if (found.size() == 1) return *found[0];
  const std::string shown = EscapeForTerminal(ref);
  if (found.empty())
    return Fail(Code::kNotFound, fmt::format("find snapshot: there is no {}", shown),
                "cloche snapshots SANDBOX shows the ones there are");
  return Fail(Code::kConflict,
              fmt::format("find snapshot: {} may be {} snapshots", shown, found.size()),
              "give its id: cloche snapshots SANDBOX");
}

Task<Result<Snapshot>> Engine::TakeSnapshot(std::shared_ptr<Sandbox> sandbox,
                                            SnapshotRequest request, SnapshotKind kind,
                                            StepTimer* steps) {
  const Turn turn = co_await TakeTurn(sandbox);
  co_return co_await SaveState(sandbox, std::move(request), kind, steps);
}

Task<Result<Snapshot>> Engine::SaveState(std::shared_ptr<Sandbox> sandbox, SnapshotRequest request,
                                         SnapshotKind kind, StepTimer* steps) {
  CLOCHE_CO_TRY(CheckCanSave(*sandbox));
  const std::vector<Snapshot> others = SnapshotsOf(*sandbox);
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
  snapshot.parent = sandbox->head;
  snapshot.kind = kind;
  if (kind == SnapshotKind::kCommand) snapshot.command = sandbox->commands_started + 1;
  auto paused = co_await sandbox->Pause();
  if (!paused) co_return std::unexpected(paused.error());
  // The record gets to disk while the files do. One without the other is put right at the next
  // start.
  unsettled_.erase(sandbox->id);
  auto saving = spawn_.Begin(SpawnOp::kSnapshot, sandbox->id, snapshot.id);
  Status stored;
  const std::string head = sandbox->head;
  const bool head_was_current = sandbox->head_is_current;
  if (kind != SnapshotKind::kFork) {
    sandbox->head = snapshot.id;
    sandbox->head_is_current = sandbox->running_commands() == 0;
    std::vector<Registry::Row> rows(1, RowOf(*sandbox));
    std::vector<Registry::SnapshotRow> saved(1, snapshot.ToRow());
    stored = registry_.Put(rows, saved);
  }
  SpawnAnswer answer = co_await SpawnLink::Finish(std::move(saving));
  if (*paused) sandbox->Resume();
  if (answer.reply.value != 0 || !stored) {
    sandbox->head = head;
    sandbox->head_is_current = head_was_current;
    if (stored && kind != SnapshotKind::kFork && !spawn_.lost()) {
      (void)registry_.RemoveSnapshot(snapshot.id);
      (void)Save(*sandbox);
    }
    if (answer.reply.value != 0) co_return std::unexpected(Explained(answer));
    (void)co_await spawn_.Call(SpawnOp::kDropSnapshot, sandbox->id, snapshot.id);
    co_return std::unexpected(stored.error());
  }
  if (steps) {
    const auto spent = [&](SpawnTiming step) { return answer.reply.timing_us[step] / 1000.0; };
    steps->Add("flush", spent(kTimeFlush));
    steps->Add("freeze", spent(kTimeFreeze));
    steps->Add("save", spent(kTimeSave));
  }
  sandbox->last_snapshot = std::chrono::steady_clock::now();
  snapshots_[snapshot.id] = snapshot;
  if (steps) steps->Mark("snapshot, whole");
  PruneLater(sandbox);
  co_return snapshot;
}

// The record first: files without one are removed at the next start at the latest.
Status Engine::ForgetRecord(Snapshot snapshot) {
  auto found = sandboxes_.find(snapshot.sandbox);
  if (found != sandboxes_.end() && found->second->head == snapshot.id) {
    Sandbox& sandbox = *found->second;
    const bool current = std::exchange(sandbox.head_is_current, false);
    sandbox.head = snapshot.parent;
    if (Status saved = Save(sandbox); !saved) {
      sandbox.head = snapshot.id;
      sandbox.head_is_current = current;
      return saved;
    }
  }
  CLOCHE_TRY(registry_.RemoveSnapshot(snapshot.id));
  Unlink(snapshot);
  return {};
}

Task<Status> Engine::DropFiles(Dropped dropped) {
  SpawnAnswer answer =
      co_await spawn_.Call(SpawnOp::kDropSnapshot, dropped.sandbox, dropped.snapshot);
  if (answer.reply.value == 0) co_return Status{};
  if (!spawn_.lost()) undropped_.push_back(std::move(dropped));
  co_return std::unexpected(Explained(answer));
}

void Engine::DropLater(const Snapshot& snapshot) {
  Dropped dropped{snapshot.sandbox, snapshot.id};
  asio::co_spawn(io_, DropFiles(std::move(dropped)), kDetached);
}

Task<Status> Engine::Forget(Snapshot snapshot) {
  CLOCHE_CO_TRY(ForgetRecord(snapshot));
  Dropped dropped{snapshot.sandbox, snapshot.id};
  co_return co_await DropFiles(std::move(dropped));
}

Task<Status> Engine::DropSnapshot(Snapshot snapshot) {
  auto found = sandboxes_.find(snapshot.sandbox);
  if (found == sandboxes_.end()) co_return NoMore(snapshot);
  const Turn turn = co_await TakeTurn(found->second);
  auto now = snapshots_.find(snapshot.id);
  if (now == snapshots_.end()) co_return NoMore(snapshot);
  co_return co_await Forget(now->second);
}

Result<Snapshot> Engine::RenameSnapshot(const Snapshot& snapshot, const SnapshotRequest& request) {
  CLOCHE_TRY(CheckReadable(snapshot));
  Snapshot changed = snapshot;
  changed.name = request.name;
  if (!request.note.empty()) changed.note = request.note;
  for (const auto& [id, other] : snapshots_)
    if (!request.name.empty() && id != snapshot.id && other.sandbox == snapshot.sandbox &&
        other.name == request.name)
      return Fail(Code::kConflict,
                  fmt::format("name {}: {} is the name of {}", snapshot.id, request.name, id),
                  "choose another name");
  // What somebody named he wants to keep.
  if (!changed.name.empty()) changed.kind = SnapshotKind::kManual;
  CLOCHE_TRY(registry_.PutSnapshot(changed.ToRow()));
  snapshots_[changed.id] = changed;
  return changed;
}

// Nobody waits for it, least of all for the files of a large one.
void Engine::PruneLater(std::shared_ptr<Sandbox> sandbox) {
  asio::co_spawn(io_, Prune(std::move(sandbox)), kDetached);
}

Task<void> Engine::Prune(std::shared_ptr<Sandbox> sandbox) {
  const Turn turn = co_await TakeTurn(sandbox);
  size_t automatic = 0, abandoned = 0;
  std::vector<Snapshot> list = SnapshotsOf(*sandbox);
  std::ranges::reverse(list);
  for (const Snapshot& snapshot : list) {
    const bool old = (IsAutomatic(snapshot) && ++automatic > kAutomaticKept) ||
                     (snapshot.kind == SnapshotKind::kRollback && ++abandoned > kAbandonedKept);
    if (!old) continue;
    const auto now = snapshots_.find(snapshot.id);  // its parent may be new
    if (now != snapshots_.end() && ForgetRecord(now->second)) DropLater(snapshot);
  }
}

Result<Snapshot> Engine::ChooseSnapshot(const Sandbox& sandbox,
                                        const RollbackRequest& request) const {
  const std::vector<Snapshot> list = SnapshotsOf(sandbox);
  const std::string cure = "cloche snapshots " + sandbox.id + " shows the ones there are";
  if (request.undo_command) {
    // Where it came from, step by step; a state it is in already is not undone again.
    auto at = snapshots_.find(sandbox.head);
    if (at != snapshots_.end() && sandbox.head_is_current) at = snapshots_.find(at->second.parent);
    while (at != snapshots_.end() && at->second.kind != SnapshotKind::kCommand)
      at = snapshots_.find(at->second.parent);
    if (at != snapshots_.end()) return at->second;
    return Fail(Code::kNotFound, "undo command: the state before it was not saved",
                "make the sandbox with --auto-snapshot every-command");
  }
  if (request.snapshot.empty()) {
    if (auto head = snapshots_.find(sandbox.head); head != snapshots_.end()) return head->second;
    return Fail(Code::kNotFound, "roll back: " + sandbox.id + " has no snapshot",
                "cloche snapshot " + sandbox.id + " makes one");
  }
  std::vector<const Snapshot*> found;
  for (const Snapshot& each : list) {
    if (each.id == request.snapshot || each.name == request.snapshot) return each;
    if (each.id.starts_with(request.snapshot) || each.id.starts_with("sn_" + request.snapshot))
      found.push_back(&each);
  }
  if (found.size() == 1) return *found[0];
  return Fail(
      found.empty() ? Code::kNotFound : Code::kConflict,
      fmt::format("roll back: {} has {} snapshot {}", sandbox.id,
                  found.empty() ? "no" : "more than one", EscapeForTerminal(request.snapshot)),
      cure);
}

Task<Result<Json>> Engine::Rollback(std::shared_ptr<Sandbox> sandbox, RollbackRequest request) {
  const Turn turn = co_await TakeTurn(sandbox);
  CLOCHE_CO_TRY(CheckCanSave(*sandbox));
  if (sandbox->state == State::kEnded)
    co_return Fail(Code::kConflict,
                   fmt::format("roll back {}: it has ended ({})", sandbox->id, sandbox->reason),
                   "its snapshots can still be forked: cloche fork SNAPSHOT");
  auto target = ChooseSnapshot(*sandbox, request);
  if (!target) co_return std::unexpected(target.error());
  CLOCHE_CO_TRY(CheckReadable(*target));
  CLOCHE_CO_TRY(CheckHoldsServices(*sandbox, *target));
  const int64_t birth_before = sandbox->birth_ns;
  const int64_t back_before = std::exchange(sandbox->clock_back_before_ns, 0);
  sandbox->birth_ns = sandbox->BirthAt(target->created);
  sandbox->clock.Add(back_before);
  const std::string why = "rolled back to " + (target->name.empty() ? target->id : target->name);
  Snapshot abandoned;
  abandoned.id = NewId("sn_");
  abandoned.sandbox = sandbox->id;
  abandoned.owner = sandbox->owner;
  abandoned.note = "before " + target->id;
  abandoned.parent = sandbox->head;
  abandoned.kind = SnapshotKind::kRollback;
  // On record while its processes end, and before its files move: they must not be taken for a
  // crash's rubbish.
  auto ending = spawn_.Begin(SpawnOp::kKill, sandbox->id, "", "", kFlagBrief);
  sandbox->stopping = true;
  const Sandbox::State before = sandbox->state;
  const bool head_was_current = sandbox->head_is_current;
  const auto stand = [&](State state, const std::string& reason, const std::string& head,
                         bool current) {
    sandbox->state = state;
    sandbox->reason = reason;
    sandbox->head = head;
    sandbox->head_is_current = current;
  };
  const std::string reason = sandbox->reason;
  stand(State::kStopped, why, target->id, true);
  std::vector<Registry::Row> rows(1, RowOf(*sandbox));
  std::vector<Registry::SnapshotRow> saved(1, abandoned.ToRow());
  const Status stored = registry_.Put(rows, saved);
  stand(before, reason, abandoned.parent, head_was_current);  // until it has happened
  SpawnAnswer answer = co_await SpawnLink::Finish(std::move(ending));
  sandbox->stopping = false;
  if (before == State::kRunning) sandbox->Detach(why);
  stand(State::kStopped, "stopped by a rollback that failed", abandoned.parent, head_was_current);
  unsettled_.erase(sandbox->id);
  if (stored && answer.reply.value == 0)
    answer = co_await spawn_.Call(SpawnOp::kRollback, sandbox->id, target->id, abandoned.id);
  if (!stored || answer.reply.value != 0) {
    // Without spawn nobody knows what happened: the next start finds out.
    if (stored && !spawn_.lost()) (void)registry_.RemoveSnapshot(abandoned.id);
    sandbox->birth_ns = birth_before;
    sandbox->clock.Add(-back_before);
    sandbox->clock_back_before_ns = back_before;
    if (!spawn_.lost()) (void)Save(*sandbox);
    if (!stored) co_return std::unexpected(stored.error());
    co_return std::unexpected(Explained(answer));
  }
  snapshots_[abandoned.id] = abandoned;
  stand(State::kStopped, why, target->id, true);
  PruneLater(sandbox);
  Json json = sandbox->ToJson();
  json["rolled_back_to"] = target->ToJson();
  json["kept_as"] = abandoned.ToJson();
  json["save_ms"] = answer.reply.timing_us[kTimeSave] / 1000.0;
  co_return json;
}

Task<Result<Engine::Sandboxes>> Engine::Fork(std::shared_ptr<Sandbox> parent, ForkRequest request,
                                             Client client) {
  const Turn turn = co_await TakeTurn(parent);
  SnapshotRequest unnamed;
  auto state = co_await SaveState(parent, std::move(unnamed), SnapshotKind::kFork, nullptr);
  if (!state) co_return std::unexpected(state.error());
  auto forks = co_await Copy(parent, *state, std::move(request), client);
  if (ForgetRecord(*state)) DropLater(*state);
  co_return forks;
}

Task<Result<Engine::Sandboxes>> Engine::Fork(Snapshot snapshot, ForkRequest request,
                                             Client client) {
  auto found = sandboxes_.find(snapshot.sandbox);
  if (found == sandboxes_.end()) co_return NoMore(snapshot);
  const std::shared_ptr<Sandbox> parent = found->second;
  const Turn turn = co_await TakeTurn(parent);  // nobody removes it meanwhile
  if (!snapshots_.contains(snapshot.id)) co_return NoMore(snapshot);
  CLOCHE_CO_TRY(CheckReadable(snapshot));
  co_return co_await Copy(parent, std::move(snapshot), std::move(request), client);
}

Task<Result<Engine::Sandboxes>> Engine::Copy(std::shared_ptr<Sandbox> parent, Snapshot snapshot,
                                             ForkRequest request, Client client) {
  CLOCHE_CO_TRY(CheckReadable(*parent));
  auto limits = WithinLimits(request.limits, parent->planned.limits);
  if (!limits) co_return std::unexpected(limits.error());
  CLOCHE_CO_TRY(CheckNewNames(request.names, request.count, client));
  SandboxRequest wanted = parent->request;
  wanted.limits = OverLimits(request.limits, parent->request.limits);
  std::erase_if(wanted.services,
                [&](const ServiceRequest& each) { return IsOlder(snapshot, each); });
  auto planned = Plan(wanted, FactsOf(client.peer), parent->id);
  if (!planned) co_return std::unexpected(planned.error());
  if (planned->plan.in_memory)
    co_return Fail(Code::kUnavailable,
                   "fork " + parent->id + ": its changes are not kept in memory",
                   "leave out --inodes (rootless also --disk)");
  Sandboxes forks;
  std::vector<Registry::Row> rows;
  for (size_t i = 0; i < request.count; ++i) {
    auto fork = MakeSandbox(NewId("sb_"), parent->owner);
    fork->name = request.names.empty() ? "" : request.names[i];
    fork->keep = true;
    fork->request = parent->request;
    fork->request.name = fork->name;
    fork->request.limits = wanted.limits;
    fork->request.services = wanted.services;
    if (i == 0) CLOCHE_CO_TRY(CheckStorable(fork->request));
    fork->planned = parent->planned;
    fork->planned.limits = *limits;
    fork->lives_since = parent->lives_since;
    if (limits->commands.value_or(0) != 0) fork->commands_started = parent->commands_started;
    fork->birth_ns = parent->BirthAt(snapshot.created);
    fork->earlier_births = parent->earlier_births;
    fork->ancestors = parent->ancestors;
    const int64_t saved_ns = std::chrono::nanoseconds(snapshot.created.time_since_epoch()).count();
    fork->ancestors[parent->id] = saved_ns;
    for (auto& [id, until_ns] : fork->ancestors) until_ns = std::min(until_ns, saved_ns);
    fork->clock = parent->clock;
    fork->clock.Add(parent->clock_back_before_ns);
    fork->guarded = parent->guarded;
    fork->moved = parent->moved;
    fork->birth_note = parent->birth_note;
    fork->project_file_digest = parent->project_file_digest;
    fork->origin = {{"sandbox", parent->id},
                    {"snapshot", snapshot.kind == SnapshotKind::kFork ? "" : snapshot.id}};
    fork->reason = "forked from " + (parent->name.empty() ? parent->id : parent->name);
    rows.push_back(RowOf(*fork));
    sandboxes_[fork->id] = fork;
    forks.push_back(std::move(fork));
  }
  // On record before its files exist, as in Create; all of them or none.
  Status status = registry_.Put(rows);
  size_t next = 0, going = 0;
  Event moved(io_);
  while (status && (next < forks.size() || going > 0)) {
    for (; next < forks.size() && going < kForksAtOnce; ++next, ++going)
      asio::co_spawn(
          io_,
          [](Engine& engine, std::string from, std::shared_ptr<Sandbox> fork, Status& result,
             size_t& count, Event& done) -> Task<void> {
            SpawnAnswer answer = co_await engine.spawn_.Call(SpawnOp::kFork, fork->id, from);
            if (answer.reply.value != 0 && result)
              result = std::unexpected(engine.Explained(answer));
            --count;
            done.Pulse();
          }(*this, snapshot.id, forks[next], status, going, moved),
          kDetached);
    if (going > 0) co_await moved.Wait();
  }
  while (going > 0) co_await moved.Wait();  // one failed: the others still come home
  if (status) {
    rows.clear();
    for (auto& fork : forks) {
      fork->state = State::kStopped;
      rows.push_back(RowOf(*fork));
    }
    status = registry_.Put(rows);
  }
  if (status) co_return forks;
  for (auto& fork : forks) {
    sandboxes_.erase(fork->id);
    co_await RemoveRest(fork->id);
  }
  co_return std::unexpected(status.error());
}

}  // namespace cloche::daemon
