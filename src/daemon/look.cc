#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/text.h"
#include "daemon/engine.h"
#include "sys/process.h"
#include "sys/stream.h"

// Starts cloche-diff on a state that does not change meanwhile.
namespace cloche::daemon {

// Another state: a snapshot of the same sandbox, else another sandbox as it is now.
Task<Result<std::string>> Engine::ResolveOther(std::shared_ptr<Sandbox> sandbox, std::string ref,
                                               Client client, Look& look) {
  RollbackRequest request;
  request.snapshot = ref;
  if (auto own = ChooseSnapshot(*sandbox, request)) co_return own->id;
  auto other = Find(ref, client);
  if (!other || *other == sandbox)
    co_return Fail(Code::kNotFound,
                   fmt::format("compare {}: there is no snapshot of it and no other sandbox {}",
                               sandbox->id, EscapeForTerminal(ref)),
                   "cloche snapshots " + sandbox->id + " and cloche ls show what there is");
  if ((*other)->request.base_directory != sandbox->request.base_directory)
    co_return Fail(Code::kConflict, "compare: the two are copies of different things", "");
  const Turn turn = co_await TakeTurn(*other);
  SnapshotRequest unnamed;
  auto saved = co_await SaveState(*other, std::move(unnamed), SnapshotKind::kFork, nullptr);
  if (!saved) co_return std::unexpected(saved.error());
  look.passing.push_back(*saved);
  co_return saved->id;
}

Task<Result<std::shared_ptr<Engine::Look>>> Engine::StartLook(std::shared_ptr<Sandbox> sandbox,
                                                              LookRequest request, Client client) {
  auto look = std::make_shared<Look>(io_);
  look->sandbox = sandbox;
  std::string state, other;
  if (!request.against.empty()) {
    auto resolved = co_await ResolveOther(sandbox, request.against, client, *look);
    if (!resolved) co_return std::unexpected(resolved.error());
    other = *resolved;
  }
  if (!request.stale) look->turn.emplace(co_await TakeTurn(sandbox));
  Status prepared;
  if (request.stale) {
    // A moment's look at names: nothing has to stand still for it.
  } else if (!request.snapshot.empty()) {
    RollbackRequest wanted;
    wanted.snapshot = request.snapshot;
    auto chosen = ChooseSnapshot(*sandbox, wanted);
    if (chosen)
      state = chosen->id;
    else
      prepared = std::unexpected(chosen.error());
  } else if (sandbox->state == Sandbox::State::kRunning && mode_ == Mode::kSystem &&
             !sandbox->planned.plan.in_memory) {
    SnapshotRequest unnamed;
    auto saved = co_await SaveState(sandbox, std::move(unnamed), SnapshotKind::kFork, nullptr);
    if (saved) {
      look->passing.push_back(*saved);
      state = saved->id;
      look->turn.reset();
    } else {
      prepared = std::unexpected(saved.error());
    }
  } else {
    // A copy would take longer than to stand still for a moment.
    auto paused = co_await sandbox->Pause();
    if (paused)
      look->paused = *paused;
    else
      prepared = std::unexpected(paused.error());
  }
  auto planned = Plan(sandbox->request, FactsOf(client.peer), sandbox->id);
  if (prepared && !planned) prepared = std::unexpected(planned.error());
  int ends[2] = {-1, -1};
  if (prepared && pipe2(ends, O_CLOEXEC) < 0)
    prepared = Fail(Code::kInternal, fmt::format("make pipe: {}", strerror(errno)));
  if (!prepared) {
    (void)co_await FinishLook(look);
    co_return std::unexpected(prepared.error());
  }
  const sys::Fd theirs(ends[1]);
  sys::SetNonBlocking(ends[0]);
  look->answer.assign(ends[0]);
  const std::string project =
      sandbox->request.project.empty() ? sandbox->request.cwd : sandbox->request.project;
  const Json question = {{"sandbox", sandbox->id},
                         {"format", request.stale   ? "stale"
                                    : request.patch ? "patch"
                                                    : "json"},
                         {"since_ns", sandbox->birth_ns},
                         {"lines", request.lines},
                         {"one_owner", mode_ == Mode::kRootless},
                         {"project", project},
                         {"home", sandbox->request.home},
                         {"root", !request.root.empty() ? request.root
                                  : project.empty()     ? "/"
                                                        : project},
                         {"paths", request.paths}};
  const std::string text = question.dump();
  planned->plan.keep = true;
  const std::string bytes = EncodePlan(planned->plan);
  const sys::Fd plan(sys::SealedMemfd("plan", bytes.data(), bytes.size()));
  const sys::Fd asked(sys::SealedMemfd("question", text.data(), text.size()));
  SpawnRequest spawn{};
  spawn.op = SpawnOp::kLook;
  spawn.flags = look->paused || sandbox->state == Sandbox::State::kRunning ? kFlagLive : 0;
  strncpy(spawn.sandbox, sandbox->id.c_str(), sizeof spawn.sandbox - 1);
  strncpy(spawn.snapshot, state.c_str(), sizeof spawn.snapshot - 1);
  strncpy(spawn.other, other.c_str(), sizeof spawn.other - 1);
  const int fds[] = {plan.get(), client.socket, theirs.get(), asked.get()};
  look->waiting = spawn_.Send(spawn, fds);
  co_return look;
}

Task<Status> Engine::FinishLook(std::shared_ptr<Look> look) {
  boost::system::error_code ignored;
  (void)look->answer.close(ignored);  // one that is still writing ends
  Status status;
  if (look->waiting) {
    SpawnAnswer answer = co_await SpawnLink::Finish(look->waiting);
    if (answer.reply.value != 0) status = std::unexpected(Explained(answer));
  }
  if (look->paused) look->sandbox->Resume();
  look->turn.reset();
  // Whoever asked does not wait for that.
  for (const Snapshot& snapshot : look->passing)
    asio::co_spawn(
        io_,
        [](Engine& engine, Snapshot passed) -> Task<void> {
          (void)co_await engine.DropSnapshot(std::move(passed));
        }(*this, snapshot),
        asio::detached);
  co_return status;
}

Task<Result<Json>> Engine::Staleness(std::shared_ptr<Sandbox> sandbox, Client client) {
  LookRequest request;
  request.stale = true;
  auto look = co_await StartLook(sandbox, std::move(request), client);
  if (!look) co_return std::unexpected(look.error());
  std::string text;
  std::vector<char> piece(64 << 10);
  for (;;) {
    auto [error, size] =
        co_await (*look)->answer.async_read_some(asio::buffer(piece.data(), piece.size()), kAwait);
    if (error) break;
    text.append(piece.data(), size);
  }
  const Status status = co_await FinishLook(*look);
  if (!status) co_return std::unexpected(status.error());
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    co_return Fail(Code::kInternal, "read staleness: cloche-diff said nothing");
  json["id"] = sandbox->id;
  json["age_s"] = static_cast<double>(sys::CoarseNanos() - sandbox->birth_ns) / 1e9;
  json["project"] = sandbox->request.project;
  json["base_commit"] = sandbox->request.base_commit;
  json["moved_before"] = sandbox->moved;
  co_return json;
}

// What was never changed here is seen as it is outside, but what was looked at may have been
// remembered: a new mount forgets that. What moved on both sides stays as it is here.
Task<Result<Json>> Engine::Refresh(std::shared_ptr<Sandbox> sandbox, Client client) {
  if (sandbox->running_commands() > 0)
    co_return Fail(Code::kConflict, "refresh " + sandbox->id + ": a command runs in it",
                   "wait for it, or end it: cloche stop " + sandbox->id);
  const int64_t now = sys::CoarseNanos();
  auto stale = co_await Staleness(sandbox, client);
  if (!stale) co_return stale;
  Status stopped = co_await Stop(sandbox, "refreshed");
  if (!stopped) co_return std::unexpected(stopped.error());
  for (const std::string path : (*stale)["both_paths"])
    if (std::ranges::find(sandbox->moved, path) == sandbox->moved.end())
      sandbox->moved.push_back(path);
  sandbox->birth_ns = now;
  CLOCHE_CO_TRY(Save(*sandbox));
  (*stale)["moved_before"] = sandbox->moved;
  co_return stale;
}

}  // namespace cloche::daemon
