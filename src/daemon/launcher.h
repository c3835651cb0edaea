#pragma once

#include <memory>
#include <string>

#include "daemon/commands.h"
#include "daemon/network_grants.h"
#include "daemon/signing.h"
#include "daemon/supervisor.h"

namespace cloche::daemon {

// Starts the processes of a sandbox, with all it was granted, and ends them. Callers hold the
// sandbox's turn, or are the only ones who know about it.
class Launcher {
 public:
  Launcher(Machine& machine, SandboxTable& table, Spawn& spawn, Commands& commands,
           NetworkGrants& networks, Signing& signing, Supervisor& supervisor)
      : machine_(machine),
        table_(table),
        spawn_(spawn),
        commands_(commands),
        networks_(networks),
        signing_(signing),
        supervisor_(supervisor) {}

  Task<Status> Launch(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps,
                      FirstCommand* first = nullptr);
  // Starts a stopped sandbox and its services, and waits for them.
  Task<Status> Wake(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps = nullptr);
  Task<Status> Stop(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended);
  // Time passes for a stopped sandbox, too: it must not start only to be ended then.
  Status EndIfOutlived(Sandbox& sandbox);

 private:
  Task<Result<SpawnAnswer>> Build(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps,
                                  FirstCommand* first, bool guarded);
  Status Plan(Sandbox& sandbox, const Client& client);
  // Init runs, but nothing else yet.
  Task<Status> Guard(std::shared_ptr<Sandbox> sandbox, Client client, FirstCommand* first);

  Machine& machine_;
  SandboxTable& table_;
  Spawn& spawn_;
  Commands& commands_;
  NetworkGrants& networks_;
  Signing& signing_;
  Supervisor& supervisor_;
};

}  // namespace cloche::daemon
