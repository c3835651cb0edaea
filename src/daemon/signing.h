#pragma once

#include <memory>

#include "daemon/client.h"
#include "daemon/machine.h"
#include "daemon/sandbox_table.h"

namespace cloche::daemon {

// Signing granted to sandboxes: the keys, the process that signs with them, the log.
class Signing {
 public:
  Signing(asio::io_context& io, Machine& machine, SandboxTable& table, Spawn& spawn)
      : io_(io), machine_(machine), table_(table), spawn_(spawn) {}

  Task<Status> Open(std::shared_ptr<Sandbox> sandbox, Client client);
  static void Close(Sandbox& sandbox);
  Task<Status> Change(std::shared_ptr<Sandbox> sandbox, SigningChange change, Client client);
  static Json ToJson(const Sandbox& sandbox);

 private:
  // Returns once the keys in `wanted` are in force.
  static Task<Status> Set(std::shared_ptr<Sandbox> sandbox, SigningRequest wanted);
  static void TakeEvent(Sandbox& sandbox, const Json& event);

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  Spawn& spawn_;
};

}  // namespace cloche::daemon
