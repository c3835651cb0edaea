#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "daemon/time_travel.h"
#include "policy/stored_request.h"

// Copies a state into new sandboxes.
namespace cloche::daemon {
namespace {

using State = Sandbox::State;

constexpr size_t kForksAtOnce = 16;  // one commit of the pool serves several

}  // namespace

Task<Result<Sandboxes>> TimeTravel::Fork(std::shared_ptr<Sandbox> parent, ForkRequest request,
                                         Client client) {
  const Turn turn = co_await TakeTurn(parent);
  SnapshotRequest unnamed;
  auto state = co_await Save(parent, std::move(unnamed), SnapshotKind::kFork, nullptr);
  if (!state) co_return std::unexpected(state.error());
  auto forks = co_await Copy(parent, *state, std::move(request), client);
  if (ForgetRecord(*state)) DropLater(*state);
  co_return forks;
}

Task<Result<Sandboxes>> TimeTravel::Fork(Snapshot snapshot, ForkRequest request, Client client) {
  auto found = table_.all().find(snapshot.sandbox);
  if (found == table_.all().end()) co_return NoMore(snapshot);
  const std::shared_ptr<Sandbox> parent = found->second;
  const Turn turn = co_await TakeTurn(parent);  // so that nobody removes it meanwhile
  if (!snapshots_.Get(snapshot.id)) co_return NoMore(snapshot);
  CLOCHE_CO_TRY(CheckReadable(snapshot));
  co_return co_await Copy(parent, std::move(snapshot), std::move(request), client);
}

Task<Status> TimeTravel::CopyFiles(const Sandboxes& forks, std::string snapshot) {
  Status status;
  size_t next = 0, going = 0;
  Event moved(io_);
  const auto copy = [&](std::string id) -> Task<void> {
    SpawnAnswer answer = co_await spawn_.Call(id, ask::Fork(WireId(snapshot)));
    if (answer.reply.value != 0 && status) status = std::unexpected(machine_.Explain(answer));
    --going;
    moved.Pulse();
  };
  while (status && (next < forks.size() || going > 0)) {
    for (; next < forks.size() && going < kForksAtOnce; ++next, ++going)
      asio::co_spawn(io_, copy(forks[next]->id), kDetached);
    if (going > 0) co_await moved.Wait();
  }
  while (going > 0) co_await moved.Wait();  // one failed: still wait for the others
  co_return status;
}

Task<Result<Sandboxes>> TimeTravel::Copy(std::shared_ptr<Sandbox> parent, Snapshot snapshot,
                                         ForkRequest request, Client client) {
  CLOCHE_CO_TRY(CheckReadable(*parent));
  auto limits = WithinLimits(request.limits, parent->terms().limits());
  if (!limits) co_return std::unexpected(limits.error());
  CLOCHE_CO_TRY(table_.CheckNewNames(request.names, request.count, client));
  SandboxRequest wanted = parent->terms().request();
  wanted.limits = OverLimits(request.limits, parent->terms().request().limits);
  std::erase_if(wanted.services,
                [&](const ServiceRequest& each) { return IsOlder(snapshot, each); });
  auto planned = machine_.Plan(wanted, machine_.FactsOf(client.peer), parent->id);
  if (!planned) co_return std::unexpected(planned.error());
  if (planned->plan.in_memory)
    co_return Fail(Code::kUnavailable,
                   "fork " + parent->id + ": its changes are not kept in memory",
                   "leave out --inodes (rootless also --disk)");
  Sandboxes forks;
  std::vector<Registry::Row> rows;
  for (size_t i = 0; i < request.count; ++i) {
    Beginning beginning;
    beginning.terms = parent->terms();
    beginning.terms.Rename(request.names.empty() ? "" : request.names[i]);
    beginning.terms.SetServices(wanted.services);
    beginning.terms.SetLimits(wanted.limits, *limits);
    if (i == 0) CLOCHE_CO_TRY(CheckStorable(beginning.terms.request()));
    beginning.lifetime.counted_from = parent->lifetime().counted_from;
    if (limits->commands.value_or(0) != 0)
      beginning.commands_started = parent->commands().started();
    beginning.birth = Birth::OfFork(parent->birth(), parent->id, snapshot.created);
    const std::string origin = snapshot.kind == SnapshotKind::kFork ? "" : snapshot.id;
    beginning.history = History("", true, {{"sandbox", parent->id}, {"snapshot", origin}});
    auto fork = table_.Make(NewId("sb_"), parent->owner, std::move(beginning));
    rows.push_back(table_.RowOf(*fork));
    table_.Add(fork);
    forks.push_back(std::move(fork));
  }
  const std::string why =
      "forked from " + (parent->terms().name().empty() ? parent->id : parent->terms().name());
  // Recorded before its files exist, as in Create; all of them or none.
  Status status = table_.registry().Put(rows);
  if (status) status = co_await CopyFiles(forks, snapshot.id);
  if (status) {
    rows.clear();
    for (auto& fork : forks) {
      (void)fork->Transition(State::kStopped, why);
      rows.push_back(table_.RowOf(*fork));
    }
    status = table_.registry().Put(rows);
  }
  if (status) co_return forks;
  for (auto& fork : forks) {
    table_.Erase(fork->id);
    co_await RemoveRest(spawn_, table_, fork->id);
  }
  co_return std::unexpected(status.error());
}

}  // namespace cloche::daemon
