#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "daemon/engine.h"

// Asks cloche-promote, until it is his turn.
namespace cloche::daemon {
namespace {

using std::chrono::milliseconds;
constexpr size_t kMostHeld = 64 << 10;  // what is longer is passed on as it comes
constexpr const char* kApplied = R"("state":"done")";
constexpr milliseconds kFirstPause{50}, kLongestPause{1000}, kPatience{30'000};

}  // namespace

// One promotion or undo of a person at a time. While another is under way the sandbox goes on: it
// stands still only to be looked at.
Task<Result<Engine::Said>> Engine::Promote(std::shared_ptr<Sandbox> sandbox, LookRequest request,
                                           Client client) {
  if (!sandbox->request.base_directory.empty())
    co_return Fail(Code::kUnavailable, "promote " + sandbox->id + ": it is no copy of this machine",
                   "take its changes out with: cloche diff " + sandbox->id + " --patch");
  milliseconds waited{0}, pause = kFirstPause;
  for (;;) {
    auto said = co_await Ask(sandbox, request, client, kMostHeld);
    if (said && said->text.find(kApplied) != std::string::npos)
      (void)co_await ShowReality(client, sandbox);  // what they remember harms nobody
    if (!said || said->rest) co_return said;
    const auto answer = ParseSaid(*sandbox, said->text);
    if (!answer) co_return std::unexpected(answer.error());
    if (answer->contains("takes")) {
      Json directories = (*answer)["takes"];
      const Status copied = co_await FlattenOthers(sandbox, std::move(directories), client);
      if (!copied) co_return std::unexpected(copied.error());
      request.others_flattened = true;
      continue;
    }
    if (!answer->contains("busy")) co_return said;
    if (waited >= kPatience)
      co_return Fail(Code::kUnavailable, "promote: another promotion or undo is under way",
                     "try again when it has ended");
    asio::steady_timer timer(io_, pause);
    co_await timer.async_wait(kAwait);
    waited += pause;
    pause = std::min(pause * 2, kLongestPause);
  }
}

bool Engine::HasOthers(const Sandbox& sandbox) const {
  return std::ranges::any_of(
      sandboxes_, [&](const auto& each) { return !OtherStatesOf(*each.second, sandbox).empty(); });
}

std::vector<std::string> Engine::OtherStatesOf(const Sandbox& each, const Sandbox& promoted) const {
  std::vector<std::string> states;
  if (each.owner != promoted.owner || !each.keep || !each.request.base_directory.empty() ||
      !CheckReadable(each))
    return states;
  const bool there =
      each.state == Sandbox::State::kRunning || each.state == Sandbox::State::kStopped;
  if (there && &each != &promoted) states.emplace_back();
  for (const Snapshot& snapshot : SnapshotsOf(each))
    if (CheckReadable(snapshot)) states.push_back(snapshot.id);
  return states;
}

// The promotion takes these directories away. What other states renamed shows their content.
Task<Status> Engine::FlattenOthers(std::shared_ptr<Sandbox> sandbox, Json directories,
                                   Client client) {
  const auto all = sandboxes_;
  for (const auto& [id, other] : all) {
    std::vector<std::string> states = OtherStatesOf(*other, *sandbox);
    if (states.empty()) continue;
    LookRequest asked;
    asked.promote = {{"paths", directories}};
    const Status copied = co_await Flatten(other, std::move(asked), std::move(states), client);
    if (copied || !sandboxes_.contains(id)) continue;
    Error error = copied.error();
    error.message = fmt::format(
        "promote: it takes away a directory that was renamed in {}, which could not be copied: {}",
        other->name.empty() ? id : other->name, error.message);
    co_return std::unexpected(std::move(error));
  }
  co_return Status();
}

Task<Status> Engine::ShowReality(Client client, std::shared_ptr<Sandbox> unless) {
  Status all;
  Sandboxes own;
  for (const auto& [id, each] : sandboxes_)
    if (each != unless && each->owner == client.peer.uid && each->state == Sandbox::State::kRunning)
      own.push_back(each);
  for (const auto& each : own) {
    if (each->state != Sandbox::State::kRunning) continue;  // ended meanwhile
    auto answer = co_await AskInside(each, SpawnOp::kForget, 0, client);
    if (each->state != Sandbox::State::kRunning) continue;
    if (!answer) all = std::unexpected(answer.error());
    if (answer && answer->reply.value != 0) all = std::unexpected(Explained(*answer));
  }
  co_return all;
}

}  // namespace cloche::daemon
