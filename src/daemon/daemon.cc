#include "daemon/daemon.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>

#include "sys/file.h"
#include "sys/watch_reserve.h"

namespace cloche::daemon {

Daemon::Daemon(asio::io_context& io_in, Mode mode, Directories directories, Spawn& spawn_in,
               Registry& registry)
    : io(io_in),
      spawn(spawn_in),
      machine(mode, std::move(directories)),
      logs(machine.state_directory() + "/daemon/logs"),
      sandboxes(io, machine, registry, logs),
      snapshots(sandboxes),
      secrets(sandboxes, machine.state_directory() + "/daemon"),
      networks(io, machine, sandboxes, spawn, secrets),
      signing(io, machine, sandboxes, spawn),
      flusher(io, machine, sandboxes, spawn),
      commands(io, logs, flusher, spawn),
      supervisor(io, commands),
      launcher(machine, sandboxes, spawn, commands, networks, signing, supervisor),
      services(sandboxes, launcher, supervisor),
      time_travel(io, machine, sandboxes, snapshots, spawn, flusher),
      changes(io, machine, sandboxes, snapshots, spawn, time_travel),
      promotions(io, machine, sandboxes, snapshots, spawn, changes),
      births(io, sandboxes, changes),
      lifecycle(io, {machine, sandboxes, spawn, logs, secrets, networks, commands, launcher,
                     time_travel, changes, births}),
      housekeeping(io, sandboxes, launcher, lifecycle, time_travel) {
  Connect();
}

// Lower parts report to higher ones through callbacks.
void Daemon::Connect() {
  sandboxes.events.on_detach = [this](Sandbox& sandbox) {
    Signing::Close(sandbox);
    networks.Close(sandbox);
  };
  sandboxes.events.on_exit = [this](Sandbox& sandbox) {
    if (const auto& signer = sandbox.border().signer()) signer->Drain();
    networks.TellRefusals(sandbox);
  };
  sandboxes.events.on_limit = [this](const Sandbox& sandbox, const FatalLimit& limit) {
    lifecycle.EndLater(sandbox.id, limit.name, limit.reason);
  };
  secrets.on_changed = [this](uint32_t owner, std::string name) {
    return networks.SecretChanged(owner, std::move(name));
  };
  housekeeping.on_tick = [this] { KeepHouse(); };
}

Task<Status> Daemon::Load() {
  auto rests = sandboxes.Load();
  if (!rests) co_return std::unexpected(rests.error());
  for (const std::string& id : *rests)
    asio::co_spawn(io, RemoveRest(spawn, sandboxes, id), kDetached);
  logs.RemoveStale([this](const std::string& id) { return sandboxes.Contains(id); });
  networks.RemoveStaleAuthorities();
  co_return co_await time_travel.Reconcile();
}

void Daemon::KeepHouse() {
  sys::RefillWatches();
  sandboxes.ObserveClock();
  networks.CheckHost();
  secrets.KeepCounts();
  secrets.ForgetOldValues();
  sandboxes.RemoveAgain();
  time_travel.DropAgain();
}

Json Daemon::StatusJson(const Client& client) const {
  std::string statm;
  sys::ReadFileAt(AT_FDCWD, "/proc/self/statm", statm);
  long resident = 0;
  std::sscanf(statm.c_str(), "%*d %ld", &resident);
  const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - started_;
  return {{"id", "cloched"},
          {"version", CLOCHE_VERSION},
          {"mode", machine.mode() == Mode::kSystem ? "system" : "rootless"},
          {"pid", getpid()},
          {"uptime_s", uptime.count()},
          {"sandboxes", sandboxes.List(client).size()},
          {"egress", networks.Describe()},
          {"state_dir", machine.state_directory()},
          {"rss_bytes", resident * sysconf(_SC_PAGE_SIZE)}};
}

}  // namespace cloche::daemon
