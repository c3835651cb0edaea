#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "base/text.h"
#include "daemon/engine.h"

// What happens because of the time: wall, idle and life end a command or a sandbox; states are
// saved by themselves.
namespace cloche::daemon {
namespace {

constexpr std::chrono::seconds kKillPatience{5};  // a disk that hangs takes its time, too
constexpr std::chrono::seconds kStartPatience{30};

double Age(const Sandbox& sandbox) {
  return std::chrono::duration<double>(std::chrono::system_clock::now() - sandbox.lives_since)
      .count();
}

// Init waits for a command until it has executed its program. Others inside can stop it right
// before, and init then hears nothing more; what kills init still ends everything. "" = it hears.
std::string InitIsDeaf(const Sandbox& sandbox) {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [number, command] : sandbox.commands()) {
    if (command->ended()) continue;
    if (command->kill_sent && now - *command->kill_sent > kKillPatience)
      return "a command did not end when it was killed";
    if (command->state() == CommandRun::State::kStarting &&
        now - command->last_activity() > kStartPatience)
      return "its init did not start a command";
  }
  return "";
}

// Nothing has run since the last one: it would be the same again.
bool IsToBeSaved(const Sandbox& sandbox) {
  const auto every = sandbox.request.snapshot_every;
  const std::chrono::duration<double> since =
      std::chrono::steady_clock::now() - sandbox.last_snapshot;
  return every && sandbox.keep && since.count() >= *every &&
         (!sandbox.head_is_current || sandbox.running_commands() > 0);
}

}  // namespace

void Engine::LimitWallTime(const std::shared_ptr<Sandbox>& sandbox,
                           const std::shared_ptr<CommandRun>& command) {
  double seconds = command->request().wall.value_or(sandbox->planned.limits.wall.value_or(0));
  if (seconds <= 0) return;
  auto timer = std::make_shared<asio::steady_timer>(
      io_, std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
  command->on_finish = [timer, then = std::move(command->on_finish)] {
    timer->cancel();
    if (then) then();
  };
  timer->async_wait([sandbox, command, seconds](boost::system::error_code error) {
    if (error || command->ended()) return;
    command->MarkLimit({"wall", seconds, "killed: wall time limit " + FormatDuration(seconds)});
    // Alone, it takes everything it left behind with it.
    if (sandbox->running_commands() == 1 && sandbox->services.empty())
      sandbox->KillAll();
    else
      sandbox->Signal(command->number(), 9);
  });
}

void Engine::EndLater(const std::string& id, const char* limit, const std::string& reason) {
  auto found = sandboxes_.find(id);
  if (found == sandboxes_.end() || found->second->state != Sandbox::State::kRunning) return;
  for (const auto& [number, command] : found->second->commands())
    command->MarkLimit({limit, 0, "killed: " + reason});
  if (std::exchange(found->second->to_be_stopped, true)) return;
  asio::co_spawn(
      io_,
      [](Engine& engine, std::shared_ptr<Sandbox> sandbox, std::string why) -> Task<void> {
        co_await engine.Stop(sandbox, why, true);
        sandbox->to_be_stopped = false;
      }(*this, found->second, reason),
      kDetached);
}

// Time passes for a stopped one, too: it must not start again to be ended then.
Status Engine::EndIfOutlived(Sandbox& sandbox) {
  const double life = sandbox.planned.limits.life.value_or(0);
  if (sandbox.state != Sandbox::State::kStopped || life <= 0 || Age(sandbox) <= life) return {};
  sandbox.state = Sandbox::State::kEnded;
  sandbox.reason = "life limit " + FormatDuration(life);
  return Save(sandbox);
}

void Engine::StopLater(std::shared_ptr<Sandbox> sandbox, std::string reason) {
  if (std::exchange(sandbox->to_be_stopped, true)) return;
  asio::co_spawn(
      io_,
      [](Engine& engine, std::shared_ptr<Sandbox> box, std::string why) -> Task<void> {
        co_await engine.Stop(box, why);
        box->to_be_stopped = false;
      }(*this, std::move(sandbox), std::move(reason)),
      kDetached);
}

void Engine::SaveLater(std::shared_ptr<Sandbox> sandbox) {
  sandbox->last_snapshot = std::chrono::steady_clock::now();  // also if it fails
  asio::co_spawn(
      io_,
      [](Engine& engine, std::shared_ptr<Sandbox> box) -> Task<void> {
        SnapshotRequest unnamed;
        auto saved = co_await engine.TakeSnapshot(box, std::move(unnamed), SnapshotKind::kTime);
        if (saved) co_return;
        for (const auto& [number, command] : box->commands())
          if (!command->ended())
            command->Tell(FrameType::kNotice, {{"kind", "snapshot"},
                                               {"message", "not saved: " + saved.error().message}});
      }(*this, std::move(sandbox)),
      kDetached);
}

void Engine::EnforceTimes() {
  auto all = sandboxes_;
  for (auto& [id, sandbox] : all) {
    if (!sandbox->turn) (void)EndIfOutlived(*sandbox);
    if (sandbox->state != Sandbox::State::kRunning || sandbox->stopping) continue;
    if (!sandbox->turn && IsToBeSaved(*sandbox)) SaveLater(sandbox);
    const Limits& limits = sandbox->planned.limits;
    if (std::string why = InitIsDeaf(*sandbox); !why.empty()) {
      StopLater(sandbox, std::move(why));
      continue;
    }
    if (double life = limits.life.value_or(0); life > 0 && Age(*sandbox) > life) {
      EndLater(id, "life", "life limit " + FormatDuration(life));
      continue;
    }
    double idle = limits.idle.value_or(0);
    if (idle <= 0) continue;
    const auto long_ago = std::chrono::steady_clock::now() -
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(idle));
    for (const auto& [number, command] : sandbox->commands()) {
      if (command->ended() || command->last_activity() > long_ago) continue;
      if (!command->request().service.empty()) continue;  // it may wait to be asked for years
      command->MarkLimit({"idle", idle, "killed: idle limit " + FormatDuration(idle)});
      sandbox->Signal(number, 9);
    }
    if (sandbox->running_commands() == 0 && sandbox->last_activity() < long_ago)
      StopLater(sandbox, "idle limit " + FormatDuration(idle));
  }
}

}  // namespace cloche::daemon
