#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemon/promotions.h"
#include "sys/process.h"

// Before a promotion or an undo takes directories away, states that show their content get a copy
// of it.
namespace cloche::daemon {

sys::Fd PathsForSpawn(const std::vector<std::string>& paths) {
  std::string bytes;
  for (const std::string& path : paths) bytes += path + '\0';
  return sys::Fd(sys::SealedMemfd("paths", bytes.data(), bytes.size()));
}

Task<Status> Promotions::Flatten(std::shared_ptr<Sandbox> sandbox, std::vector<std::string> paths,
                                 std::vector<std::string> states, Client client) {
  auto reading = reader_.Begin(sandbox);
  reader_.WatchClient(reading, client);
  reading->in_turn = true;
  reading->turn.emplace(co_await TakeTurn(sandbox));
  const auto plan = reader_.PlanOf(*sandbox, client);
  const sys::Fd concerned = PathsForSpawn(paths);
  Status copied;
  if (!plan) copied = std::unexpected(plan.error());
  for (const std::string& state : states)
    if (copied)
      copied = co_await FlattenState(reading, plan->get(), concerned.get(), state, client);
  boost::system::error_code ignored;
  (void)reading->client.close(ignored);
  reading->Release();
  co_return copied;
}

Task<Status> Promotions::FlattenState(std::shared_ptr<Reading> reading, int plan, int paths,
                                      std::string state, Client client) {
  const auto& sandbox = reading->sandbox;
  ask::Flatten flatten{.snapshot = WireId(state)};
  if (state.empty()) {
    auto paused = co_await sandbox->init().Pause();
    if (!paused) co_return std::unexpected(paused.error());
    reading->paused = *paused;
    flatten.freeze = sandbox->runs();
  }
  if (reading->ended) co_return std::unexpected(*reading->ended);
  const int fds[] = {plan, client.socket, paths};
  reading->waiting = spawn_.Send(sandbox->id, flatten, fds);
  co_await reading->waiting->done.Wait();
  if (std::exchange(reading->paused, false)) sandbox->init().Resume();
  if (reading->ended) co_return std::unexpected(*reading->ended);
  const SpawnAnswer& answer = reading->waiting->answer;
  if (answer.reply.value != 0) co_return std::unexpected(machine_.Explain(answer));
  co_return Status();
}

// Both the sandbox's current state and the promoted snapshot show it.
Task<Status> Promotions::FlattenOwn(std::shared_ptr<Sandbox> sandbox, PromotionRequest request,
                                    Client client) {
  std::vector<std::string> states(1);
  if (!request.snapshot.empty())
    if (auto chosen = reader_.Choose(*sandbox, request.snapshot)) states.push_back(*chosen);
  co_return co_await Flatten(sandbox, std::move(request.paths), std::move(states), client);
}

Task<Status> Promotions::FlattenBeforeUndo(std::vector<std::string> directories, Client client) {
  const Others others{client.peer.uid, nullptr};
  co_return co_await FlattenOthers("undo", others, std::move(directories), client);
}

// Directories that other states renamed show the content of these, which are about to go.
Task<Status> Promotions::FlattenOthers(const char* verb, Others others,
                                       std::vector<std::string> directories, Client client) {
  const auto all = table_.all();
  for (const auto& [id, other] : all) {
    std::vector<std::string> states = StatesOf(*other, others);
    if (states.empty()) continue;
    const Status copied = co_await Flatten(other, directories, std::move(states), client);
    if (copied || !table_.Contains(id)) continue;
    Error error = copied.error();
    error.message = fmt::format(
        "{}: it takes away a directory that was renamed in {}, which could not be copied: {}", verb,
        other->terms().name().empty() ? id : other->terms().name(), error.message);
    co_return std::unexpected(std::move(error));
  }
  co_return Status();
}

bool Promotions::HasAny(const Others& others) const {
  return std::ranges::any_of(
      table_.all(), [&](const auto& each) { return !StatesOf(*each.second, others).empty(); });
}

// Rootless a rename of a directory is a copy.
std::vector<std::string> Promotions::StatesOf(const Sandbox& each, const Others& others) const {
  std::vector<std::string> states;
  if (machine_.mode() != Mode::kSystem || each.owner != others.owner || !each.terms().keep() ||
      !each.terms().request().base_directory.empty() || !CheckReadable(each))
    return states;
  const bool there = each.has_files();
  if (there && &each != others.promoted) states.emplace_back();
  for (const Snapshot& snapshot : snapshots_.Of(each))
    if (CheckReadable(snapshot)) states.push_back(snapshot.id);
  return states;
}

}  // namespace cloche::daemon
