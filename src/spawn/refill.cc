// Refills the shelf: starts one at a time, so that no request waits long, but has several in
// progress, because they all wait for the same thing (an RCU grace period of the kernel when
// entering a v1 cgroup).
#include <sys/epoll.h>

#include "spawn/server.h"
#include "sys/file.h"

namespace cloche::spawn {
namespace {

constexpr size_t kMostAtOnce = 4;
constexpr size_t kLow = 2;
// The command that was just started gets the CPUs first, as long as there is stock left.
constexpr int kLowDelayMs = 2, kDelayMs = 15;
// Mounts change in bursts, and while we examine one, its maker cannot unmount it.
constexpr int kAfterMountsMs = 300;

}  // namespace

int Server::RefillDelay() const {
  if (preparing_.size() >= kMostAtOnce) return -1;
  auto need = shelf_.NextToPrepare();
  if (!need) return -1;
  if (sys::MonotonicMicros() - mounts_changed_ < kAfterMountsMs * 1000) return kAfterMountsMs;
  return need->left == 0 ? 0 : need->left <= kLow ? kLowDelayMs : kDelayMs;
}

void Server::Refill() {
  auto need = shelf_.NextToPrepare();
  if (!need) return;
  auto begun = workshop_.Begin(need->spec);
  shelf_.MarkBroken(need->key, !begun.has_value());
  if (!begun) return Sweep("");
  shelf_.Expect(need->key);
  const pid_t pid = begun->pid;
  epoll_event event{EPOLLIN, {.u64 = static_cast<uint64_t>(pid) | kReportBit}};
  const bool told = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, begun->control.get(), &event) == 0;
  preparing_[pid] = {std::move(need->key), std::move(*begun)};
  if (!told) FinishRefill(pid);
}

void Server::FinishRefill(pid_t pid) {
  auto found = preparing_.find(pid);
  if (found == preparing_.end()) return;
  auto [key, sandbox] = std::move(found->second);
  preparing_.erase(found);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, sandbox.control.get(), nullptr);
  shelf_.Arrived(key);
  auto finished = workshop_.Finish(sandbox);
  if (finished) finished = Watch(sandbox);
  shelf_.MarkBroken(key, !finished.has_value());
  if (!finished) return Sweep("");
  // One without its limits is not fit for stock; the launch that needs it reports why this fails.
  if (SetLimits(sandbox, shelf_.LimitsOf(key))) {
    shelf_.Put(key, std::move(sandbox));
  } else {
    shelf_.MarkBroken(key, true);
    Dispose(std::move(sandbox));
  }
}

void Server::FinishOneOf(const std::string& key) {
  for (const auto& [pid, preparation] : preparing_)
    if (preparation.key == key) return FinishRefill(pid);
}

void Server::FinishRefills() {
  while (!preparing_.empty()) FinishRefill(preparing_.begin()->first);
}

}  // namespace cloche::spawn
