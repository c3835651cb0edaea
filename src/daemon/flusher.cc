#include "daemon/flusher.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

namespace cloche::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// The next command may be about to start and would make the flush useless.
constexpr std::chrono::milliseconds kQuiet(10);
// All sandboxes share the disk: however many commands end, flushes keep this distance and take at
// most a third of the time.
constexpr Clock::duration kPause = std::chrono::milliseconds(50);
constexpr int kPauses = 2;

}  // namespace

void Flusher::CommandEnded(const std::string& id) {
  const auto found = table_.all().find(id);
  if (machine_.mode() != Mode::kSystem || found == table_.all().end() ||
      found->second->history().head().empty())
    return;
  waiting_.insert(id);
  if (flushing_) return;
  flushing_ = true;
  asio::co_spawn(io_, Flush(), kDetached);
}

Task<void> Flusher::Flush() {
  asio::steady_timer timer(io_);
  while (!waiting_.empty() && !spawn_.lost()) {
    timer.expires_at(std::max(Clock::now() + kQuiet, not_before_));
    co_await timer.async_wait(kAwait);
    if (waiting_.empty()) break;  // saved meanwhile
    waiting_.clear();
    const auto start = Clock::now();
    (void)co_await spawn_.Call("sb_all", ask::Flush());
    const auto end = Clock::now();
    not_before_ = end + std::max(kPause, kPauses * (end - start));
  }
  flushing_ = false;
}

}  // namespace cloche::daemon
