#pragma once

#include <memory>

#include "daemon/client.h"
#include "daemon/machine.h"
#include "daemon/sandbox_table.h"

namespace cloche::daemon {

// Signatures that sandboxes are granted: which keys, the process that lends them, the log.
class Signing {
 public:
  Signing(asio::io_context& io, Machine& machine, SandboxTable& table, Spawn& spawn)
      : io_(io), machine_(machine), table_(table), spawn_(spawn) {}

  Task<Status> Open(std::shared_ptr<Sandbox> sandbox, Client client);
  static void Close(Sandbox& sandbox);
  Task<Status> Change(std::shared_ptr<Sandbox> sandbox, SigningChange change, Client client);
  static Json ToJson(const Sandbox& sandbox);

 private:
  // The keys that `wanted` names are in force when it returns.
  static Task<Status> Set(std::shared_ptr<Sandbox> sandbox, SigningRequest wanted);
  static void TakeEvent(Sandbox& sandbox, const Json& event);

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  Spawn& spawn_;
};

}  // namespace cloche::daemon
