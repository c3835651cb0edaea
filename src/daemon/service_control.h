#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/launcher.h"
#include "daemon/supervisor.h"

namespace cloche::daemon {

// Services that are added to a sandbox, or started anew.
class ServiceControl {
 public:
  ServiceControl(SandboxTable& table, Launcher& launcher, Supervisor& supervisor)
      : table_(table), launcher_(launcher), supervisor_(supervisor) {}

  // Their data is in place. They are part of the sandbox from now on.
  Task<Status> Add(std::shared_ptr<Sandbox> sandbox, std::vector<ServiceRequest> services,
                   Client client);
  Task<Status> Restart(std::shared_ptr<Sandbox> sandbox, std::string name, Client client);

 private:
  SandboxTable& table_;
  Launcher& launcher_;
  Supervisor& supervisor_;
};

}  // namespace cloche::daemon
