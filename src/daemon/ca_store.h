#pragma once

#include <string>
#include <vector>

#include "daemon/certificate_authority.h"
#include "daemon/client.h"
#include "daemon/machine.h"
#include "daemon/sandbox_table.h"

namespace cloche::daemon {

bool NeedsAuthority(const Json& rules);  // as cloche-egress reads them: some are about requests
// Variables that the caller set stay as they are.
void AddCaVariables(const Sandbox& sandbox, const std::vector<std::string>& named,
                    std::vector<std::string>& env);

// The CAs of sandboxes whose rules are about requests.
class CaStore {
 public:
  CaStore(Machine& machine, Spawn& spawn) : machine_(machine), spawn_(spawn) {}

  // Makes the sandbox trust its CA from now on; the answer is for cloche-egress.
  Task<Result<Json>> Prepare(std::shared_ptr<Sandbox> sandbox, Client client);
  static bool IsToBeRenewed(const Sandbox& sandbox);
  void Remove(const std::string& id) const;
  void RemoveStale(const SandboxTable& table) const;

 private:
  std::string PathOf(const std::string& id) const;
  Result<Authority> Of(Sandbox& sandbox);  // creates it if there is none
  Task<Status> Lay(std::shared_ptr<Sandbox> sandbox, Authority authority, Client client);

  Machine& machine_;
  Spawn& spawn_;
};

}  // namespace cloche::daemon
