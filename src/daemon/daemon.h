#pragma once

#include <chrono>
#include <functional>

#include "daemon/housekeeping.h"
#include "daemon/promotions.h"
#include "daemon/service_control.h"

namespace cloche::daemon {

// The parts of cloched, each above those it uses. The API calls them directly.
class Daemon {
 public:
  Daemon(asio::io_context& io, Mode mode, Directories directories, Spawn& spawn,
         Registry& registry);

  // Restores what an earlier daemon left.
  Task<Status> Load();
  Json StatusJson(const Client& client) const;

  asio::io_context& io;
  Spawn& spawn;
  Machine machine;
  LogFiles logs;
  SandboxTable sandboxes;
  SnapshotTable snapshots;
  Secrets secrets;
  NetworkGrants networks;
  Signing signing;
  Flusher flusher;
  Commands commands;
  Supervisor supervisor;
  Launcher launcher;
  ServiceControl services;
  TimeTravel time_travel;
  ChangeReader changes;
  Promotions promotions;
  BirthNotes births;
  Lifecycle lifecycle;
  Housekeeping housekeeping;

 private:
  void Connect();
  void KeepHouse();
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace cloche::daemon
