#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/launcher.h"
#include "daemon/supervisor.h"

namespace cloche::daemon {

// Adds services to a sandbox, and restarts them.
class ServiceControl {
 public:
  ServiceControl(SandboxTable& table, Launcher& launcher, Supervisor& supervisor)
      : table_(table), launcher_(launcher), supervisor_(supervisor) {}

  // Their data is in place. From now on they are part of the sandbox.
  Task<Status> Add(std::shared_ptr<Sandbox> sandbox, std::vector<ServiceRequest> services,
                   Client client);
  Task<Status> Restart(std::shared_ptr<Sandbox> sandbox, std::string name, Client client);

 private:
  SandboxTable& table_;
  Launcher& launcher_;
  Supervisor& supervisor_;
};

}  // namespace cloche::daemon
