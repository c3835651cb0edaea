#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "daemon/engine.h"

// A saved state is on disk, with all that was not yet. Where states are saved, that is written when
// a command has ended: who saves a moment later waits for his save alone, whatever was changed.
namespace cloche::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// The next command may be on its way, and would make it for nothing.
constexpr std::chrono::milliseconds kQuiet(10);
// All sandboxes share the disk: however many commands end, it is written at most so often, and
// never more than a third of the time.
constexpr Clock::duration kPause = std::chrono::milliseconds(50);
constexpr int kPauses = 2;

}  // namespace

void Engine::SettleSoon(const std::string& id) {
  const auto found = sandboxes_.find(id);
  if (mode_ != Mode::kSystem || found == sandboxes_.end() || found->second->head.empty()) return;
  unsettled_.insert(id);
  if (settling_) return;
  settling_ = true;
  asio::co_spawn(io_, Settle(), kDetached);
}

Task<void> Engine::Settle() {
  asio::steady_timer timer(io_);
  while (!unsettled_.empty() && !spawn_lost_) {
    timer.expires_at(std::max(Clock::now() + kQuiet, settle_again_));
    co_await timer.async_wait(kAwait);
    if (unsettled_.empty()) break;  // saved meanwhile
    unsettled_.clear();
    const auto start = Clock::now();
    (void)co_await spawn_.Call(SpawnOp::kSettle, "sb_all");
    const auto end = Clock::now();
    settle_again_ = end + std::max(kPause, kPauses * (end - start));
  }
  settling_ = false;
}

}  // namespace cloche::daemon
