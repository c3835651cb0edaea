#include "daemon/promotions.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "daemon/ask_inside.h"

namespace cloche::daemon {
namespace {

using std::chrono::milliseconds;
constexpr size_t kMostHeld = 64 << 10;  // what is longer is passed on as it comes
constexpr const char* kApplied = R"("state":"done")";
constexpr milliseconds kFirstPause{50}, kLongestPause{1000}, kPatience{30'000};

}  // namespace

Task<Result<ChangeReader::Said>> Promotions::Promote(std::shared_ptr<Sandbox> sandbox,
                                                     LookRequest request, Client client) {
  if (!sandbox->request.base_directory.empty())
    co_return Fail(Code::kUnavailable, "promote " + sandbox->id + ": it is no copy of this machine",
                   "take its changes out with: cloche diff " + sandbox->id + " --patch");
  milliseconds waited{0}, pause = kFirstPause;
  for (;;) {
    auto said = co_await reader_.Ask(sandbox, request, client, kMostHeld);
    if (said && said->text.find(kApplied) != std::string::npos)
      (void)co_await ShowReality(client, sandbox);  // what they remember harms nobody
    if (!said || said->rest) co_return said;
    const auto answer = reader_.Parse(*sandbox, said->text);
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

// The promotion takes these directories away. What other states renamed shows their content.
Task<Status> Promotions::FlattenOthers(std::shared_ptr<Sandbox> sandbox, Json directories,
                                       Client client) {
  const auto all = table_.all();
  for (const auto& [id, other] : all) {
    std::vector<std::string> states = reader_.OtherStatesOf(*other, *sandbox);
    if (states.empty()) continue;
    LookRequest asked;
    asked.promote = {{"paths", directories}};
    const Status copied =
        co_await reader_.Flatten(other, std::move(asked), std::move(states), client);
    if (copied || !table_.Contains(id)) continue;
    Error error = copied.error();
    error.message = fmt::format(
        "promote: it takes away a directory that was renamed in {}, which could not be copied: {}",
        other->name.empty() ? id : other->name, error.message);
    co_return std::unexpected(std::move(error));
  }
  co_return Status();
}

Task<Status> Promotions::ShowReality(Client client, std::shared_ptr<Sandbox> unless) {
  Status all;
  Sandboxes own;
  for (const auto& [id, each] : table_.all())
    if (each != unless && each->owner == client.peer.uid && each->runs()) own.push_back(each);
  for (const auto& each : own) {
    if (!each->runs()) continue;  // ended meanwhile
    auto answer = co_await AskInside(spawn_, machine_.mode(), each, SpawnOp::kForget, 0, client);
    if (!each->runs()) continue;
    if (!answer) all = std::unexpected(answer.error());
    if (answer && answer->reply.value != 0) all = std::unexpected(machine_.Explain(*answer));
  }
  co_return all;
}

Status Promotions::PinProjectFile(Sandbox& sandbox, std::string text) {
  if (sandbox.request.project.empty())
    return Fail(Code::kConflict, "pin cloche.toml of " + sandbox.id + ": it has no project",
                "make a sandbox in the project: cloche new");
  sandbox.PinProjectFile(std::move(text));
  return table_.Save(sandbox);
}

}  // namespace cloche::daemon
