#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "daemon/lifecycle.h"

namespace cloche::daemon {

// Everything driven by time: wall, idle and life limits end a command or a sandbox, states are
// saved automatically, and an idle daemon exits.
class Housekeeping {
 public:
  Housekeeping(asio::io_context& io, SandboxTable& table, Launcher& launcher, Lifecycle& lifecycle,
               TimeTravel& time_travel)
      : io_(io),
        table_(table),
        launcher_(launcher),
        lifecycle_(lifecycle),
        time_travel_(time_travel) {}

  std::function<void()> on_tick;  // periodic work of other parts

  void Start(std::chrono::seconds leave_after, std::function<void()> leave);
  // The client counts as long as this is held. It may outlive us: when the daemon exits, clients
  // still being served are destroyed last, with `io`.
  [[nodiscard]] std::shared_ptr<const void> ClientCame();

 private:
  Task<void> Run(std::chrono::seconds leave_after, std::function<void()> leave);
  bool IsBusy() const;
  void EnforceTimes();
  void SaveLater(std::shared_ptr<Sandbox> sandbox);

  asio::io_context& io_;
  SandboxTable& table_;
  Launcher& launcher_;
  Lifecycle& lifecycle_;
  TimeTravel& time_travel_;
  std::shared_ptr<const void> clients_ = std::make_shared<int>();
  std::chrono::steady_clock::time_point last_busy_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point trimmed_{};
};

}  // namespace cloche::daemon
