#pragma once

#include <memory>
#include <string>

#include "daemon/commands.h"
#include "daemon/sandbox.h"
#include "daemon/service.h"

namespace cloche::daemon {

// Programs that run as long as their sandbox: started with it, awaited, restarted when they die.
class Supervisor {
 public:
  Supervisor(asio::io_context& io, Commands& commands) : io_(io), commands_(commands) {}

  // Returns once each answers, has failed, or has timed out.
  Task<void> StartAll(std::shared_ptr<Sandbox> sandbox);
  Task<void> Stop(std::shared_ptr<Sandbox> sandbox, std::string name);

 private:
  Status Start(const std::shared_ptr<Sandbox>& sandbox, Service& service);
  Task<void> Supervise(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<Service> service);

  asio::io_context& io_;
  Commands& commands_;
};

}  // namespace cloche::daemon
