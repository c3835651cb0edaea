#include <fcntl.h>

#include <boost/asio/co_spawn.hpp>

#include "daemon/engine.h"
#include "sys/clocks.h"
#include "sys/fd.h"
#include "sys/file.h"

// What git knows of a project when a sandbox is made: the base of later merges. Nobody waits for
// it, and without it there is a conflict where there could have been a merge.
namespace cloche::daemon {

void Engine::NoteBirth(const std::shared_ptr<Sandbox>& sandbox, const Client& client) {
  // The client may be gone by then; who he was stays.
  notes_.push_back({sandbox, client.peer, sys::Fd(fcntl(client.socket, F_DUPFD_CLOEXEC, 0))});
  if (notes_.size() == 1) asio::co_spawn(io_, TakeNotes(), kDetached);
}

// File times stand still between two ticks of the kernel's clock. Whatever is changed after this is
// dated later than `moment_ns`, and whatever was changed before that moment is not. The bound is
// for a clock that is set back meanwhile, which ClockTrail notices.
Task<void> Engine::PassTick(int64_t moment_ns) {
  constexpr auto kStep = std::chrono::microseconds(500);
  constexpr int kMostSteps = 40;
  asio::steady_timer timer(io_);
  for (int step = 0; step < kMostSteps && sys::CoarseNanos() <= moment_ns; ++step) {
    timer.expires_after(kStep);
    co_await timer.async_wait(kAwait);
  }
}

// Also between two looks: what was set back and forward again would not show any more.
void Engine::ObserveClock() {
  const ClockReading now = sys::ReadClocks();
  std::vector<Registry::Row> rows;  // one commit for all: each is a sync
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->clock.Observe(now) && HasRecord(*sandbox)) rows.push_back(RowOf(*sandbox));
  if (!rows.empty()) (void)registry_.Put(rows);
}

// One after the other: a hundred sandboxes of one project are made at once.
Task<void> Engine::TakeNotes() {
  while (!notes_.empty()) {
    const auto sandbox = notes_.front().sandbox.lock();
    const Client client{notes_.front().peer, notes_.front().socket.get()};
    if (sandbox) {
      LookRequest request;
      request.stale = true;  // nothing has to stand still for it
      request.promote = {{"note", true}};
      const auto note = co_await AskWhole(sandbox, std::move(request), client);
      if (note && sandboxes_.contains(sandbox->id)) {
        for (const auto& [id, each] : sandboxes_) {
          const bool fork = each->origin.is_object() && each->origin["sandbox"] == sandbox->id;
          if (each != sandbox && (!fork || each->birth_ns != sandbox->birth_ns)) continue;
          each->birth_note = *note;
          each->birth_note["birth_ns"] = each->birth_ns;
          (void)Save(*each);
        }
      }
    }
    notes_.pop_front();
  }
}

}  // namespace cloche::daemon
