#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/ca_store.h"
#include "daemon/egress_link.h"
#include "daemon/sandbox_table.h"
#include "daemon/secrets.h"

namespace cloche::daemon {

// Tells commands inside how to reach the network.
void AddNetworkVariables(const Sandbox& sandbox, std::vector<std::string>& env);

// Network access of sandboxes: the rules, the border that spawn sets up, the guard that enforces
// it, the log.
class NetworkGrants {
 public:
  NetworkGrants(asio::io_context& io, Machine& machine, SandboxTable& table, Spawn& spawn,
                Secrets& secrets);

  Task<Status> Open(std::shared_ptr<Sandbox> sandbox, Client client);
  void Close(Sandbox& sandbox);
  Task<Status> Change(std::shared_ptr<Sandbox> sandbox, NetworkChange change, Client client);
  Json ToJson(Sandbox& sandbox);
  // In the form that cloche-egress reads. Checks all of them, even expired ones.
  Result<Json> Compile(const NetworkRequest& network, uint32_t owner) const;
  // A connection to a port on its loopback.
  Task<Result<sys::Fd>> ConnectInto(std::shared_ptr<Sandbox> sandbox, uint16_t port, Client client);
  Task<Status> RenewAuthority(std::shared_ptr<Sandbox> sandbox, Client client);
  void RemoveAuthority(const std::string& id) { authorities_.Remove(id); }
  void RemoveStaleAuthorities() { authorities_.RemoveStale(table_); }
  // Informs the sandboxes that hold the secret at once.
  Task<void> SecretChanged(uint32_t owner, std::string name);
  void TellRefusals(Sandbox& sandbox);  // before a command ends, reports what it was refused
  void CheckHost() { egress_.CheckHost(); }
  Json Describe() const { return egress_.Describe(); }

 private:
  void TellOfDeath(const std::string& why);
  Border MakeBorder(const std::shared_ptr<Sandbox>& sandbox);
  void ServeOwners(const std::shared_ptr<Sandbox>& sandbox);
  Task<Status> GiveAuthority(std::shared_ptr<Sandbox> sandbox,
                             Client client);  // the border is open
  void TakeEvent(Sandbox& sandbox, SandboxNetwork& network, const Json& event);
  void TakeRefusals(Sandbox& sandbox, SandboxNetwork& network);
  Task<void> WatchRefusals(std::weak_ptr<Sandbox> weak, std::shared_ptr<SandboxNetwork> network);
  Result<NetworkRequest> Changed(const Sandbox& sandbox, NetworkChange change);

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  Spawn& spawn_;
  Secrets& secrets_;
  CaStore authorities_;
  EgressLink egress_;
};

}  // namespace cloche::daemon
