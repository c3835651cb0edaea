#include "daemon/housekeeping.h"

#include <malloc.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "base/text.h"
#include "daemon/last_words.h"

namespace cloche::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{200};
constexpr std::chrono::seconds kKillPatience{5};  // a hanging disk can delay a kill, too
constexpr std::chrono::seconds kStartPatience{30};

// Init waits until a command has executed its program. Others inside can stop the command just
// before that; init then no longer responds. Killing init still ends everything. "" = it responds.
std::string InitIsDeaf(const Sandbox& sandbox) {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [number, command] : sandbox.commands().all()) {
    if (command->ended()) continue;
    if (command->kill_sent && now - *command->kill_sent > kKillPatience)
      return "a command did not end when it was killed";
    if (command->state() == CommandRun::State::kStarting &&
        now - command->last_activity() > kStartPatience)
      return "its init did not start a command";
  }
  return "";
}

// If nothing has run since the last save, it would be the same again.
bool IsToBeSaved(const Sandbox& sandbox) {
  const auto every = sandbox.terms().request().snapshot_every;
  const std::chrono::duration<double> since =
      std::chrono::steady_clock::now() - sandbox.history().last_save();
  return every && sandbox.terms().keep() && since.count() >= *every &&
         (!sandbox.history().is_current() || sandbox.commands().running() > 0);
}

}  // namespace

void Housekeeping::SaveLater(std::shared_ptr<Sandbox> sandbox) {
  sandbox->history().NoteSave();  // even if it fails
  asio::co_spawn(
      io_,
      [](TimeTravel& time_travel, std::shared_ptr<Sandbox> box) -> Task<void> {
        SnapshotRequest unnamed;
        auto saved = co_await time_travel.Take(box, std::move(unnamed), SnapshotKind::kTime);
        if (saved) co_return;
        box->commands().Tell(
            {{"kind", "snapshot"}, {"message", "not saved: " + saved.error().message}});
      }(time_travel_, std::move(sandbox)),
      kDetached);
}

void Housekeeping::EnforceTimes() {
  auto all = table_.all();
  for (auto& [id, sandbox] : all) {
    if (sandbox->turn().is_open()) (void)launcher_.EndIfOutlived(*sandbox);
    if (!sandbox->runs() || sandbox->stopping()) continue;
    if (sandbox->turn().is_open() && IsToBeSaved(*sandbox)) SaveLater(sandbox);
    const Limits& limits = sandbox->terms().limits();
    if (std::string why = InitIsDeaf(*sandbox); !why.empty()) {
      lifecycle_.StopLater(sandbox, std::move(why));
      continue;
    }
    if (double life = limits.life.value_or(0); life > 0 && sandbox->lifetime().age_s() > life) {
      lifecycle_.EndLater(id, "life", "life limit " + FormatDuration(life));
      continue;
    }
    double idle = limits.idle.value_or(0);
    if (idle <= 0) continue;
    const auto long_ago = std::chrono::steady_clock::now() -
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(idle));
    for (const auto& [number, command] : sandbox->commands().all()) {
      if (command->ended() || command->last_activity() > long_ago) continue;
      if (!command->request().service.empty()) continue;  // it may wait years for a request
      command->MarkLimit({"idle", idle, "killed: idle limit " + FormatDuration(idle)});
      sandbox->Signal(number, 9);
    }
    if (sandbox->commands().running() == 0 && sandbox->commands().last_activity() < long_ago)
      lifecycle_.StopLater(sandbox, "idle limit " + FormatDuration(idle));
  }
}

void Housekeeping::Start(std::chrono::seconds leave_after, std::function<void()> leave) {
  asio::co_spawn(io_, Run(leave_after, std::move(leave)), kDetached);
}

std::shared_ptr<const void> Housekeeping::ClientCame() {
  last_busy_ = Clock::now();
  return clients_;
}

bool Housekeeping::IsBusy() const {
  using State = Sandbox::State;
  return clients_.use_count() > 1 || std::ranges::any_of(table_.all(), [](const auto& entry) {
           const Sandbox& sandbox = *entry.second;
           return sandbox.state() == State::kRunning ||
                  (sandbox.terms().planned().plan.in_memory && sandbox.state() == State::kStopped);
         });
}

Task<void> Housekeeping::Run(std::chrono::seconds leave_after, std::function<void()> leave) {
  asio::steady_timer timer(io_);
  for (;;) {
    timer.expires_after(kTick);
    co_await timer.async_wait(kAwait);
    // Keep enforcing time limits after a bug in one of these.
    try {
      EnforceTimes();
      on_tick();
    } catch (...) {
      RecordException(std::current_exception(), "keep house");
    }
    const bool busy = IsBusy();
    // Return memory to the machine once a crowd of sandboxes is gone.
    if (!busy && trimmed_ < last_busy_) {
      malloc_trim(0);
      trimmed_ = Clock::now();
    }
    if (busy) last_busy_ = Clock::now();
    if (!busy && Clock::now() - last_busy_ > leave_after) {
      leave();
      co_return;
    }
  }
}

}  // namespace cloche::daemon
