#include "daemon/birth_notes.h"

#include <fcntl.h>

#include <boost/asio/co_spawn.hpp>

#include "sys/file.h"

namespace cloche::daemon {

// The project is more specific than the whole machine or home directory.
bool HasProject(const SandboxRequest& request) {
  const std::string& project = request.project.empty() ? request.cwd : request.project;
  return request.base_directory.empty() && !project.empty() && project != "/" &&
         project != request.home;
}

// The limit is for a clock that is set back meanwhile, which ClockTrail notices.
Task<void> PassTick(asio::io_context& io, int64_t moment_ns) {
  constexpr auto kStep = std::chrono::microseconds(500);
  constexpr int kMostSteps = 40;
  asio::steady_timer timer(io);
  for (int step = 0; step < kMostSteps && sys::CoarseNanos() <= moment_ns; ++step) {
    timer.expires_after(kStep);
    co_await timer.async_wait(kAwait);
  }
}

void BirthNotes::Take(const std::shared_ptr<Sandbox>& sandbox, const Client& client) {
  // The client may be gone by then; its credentials stay.
  wanted_.push_back({sandbox, client.peer, sys::Fd(fcntl(client.socket, F_DUPFD_CLOEXEC, 0)),
                     sandbox->birth().ExpectNote(io_)});
  if (wanted_.size() == 1) asio::co_spawn(io_, TakeAll(), kDetached);
}

// Forks of that moment have the same base.
void BirthNotes::Keep(const Sandbox& sandbox, const Json& note) {
  for (const auto& [id, each] : table_.all()) {
    const bool fork =
        each->history().origin().is_object() && each->history().origin()["sandbox"] == sandbox.id;
    if (each.get() != &sandbox && (!fork || each->birth().at_ns() != sandbox.birth().at_ns()))
      continue;
    each->birth().TakeNote(note);
    (void)table_.Save(*each);
  }
}

// One after the other: a hundred sandboxes of one project may be made at once.
Task<void> BirthNotes::TakeAll() {
  while (!wanted_.empty()) {
    const auto sandbox = wanted_.front().sandbox.lock();
    const Client client{wanted_.front().peer, wanted_.front().socket.get()};
    if (sandbox) {
      const auto note = co_await reader_.NoteBirth(sandbox, client);
      if (note && table_.Contains(sandbox->id)) Keep(*sandbox, *note);
    }
    wanted_.front().taken->Set();
    wanted_.pop_front();
  }
}

}  // namespace cloche::daemon
