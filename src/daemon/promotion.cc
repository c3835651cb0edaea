#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "daemon/engine.h"

// Asks cloche-promote, until it is his turn.
namespace cloche::daemon {
namespace {

using std::chrono::milliseconds;
constexpr size_t kMostHeld = 64 << 10;  // what is longer is passed on as it comes
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
    if (!said || said->rest) co_return said;
    const auto answer = ParseSaid(*sandbox, said->text);
    if (!answer) co_return std::unexpected(answer.error());
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

}  // namespace cloche::daemon
