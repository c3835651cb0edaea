#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "daemon/client.h"
#include "daemon/egress_link.h"
#include "daemon/sandbox_table.h"
#include "daemon/vault.h"
#include "egress/rule.h"
#include "policy/secret_request.h"

namespace cloche::daemon {

const SecretGrant* GrantOf(const NetworkRequest& network, const std::string& secret);
// A secret has been granted for where this rule leads.
bool HasBeenSent(const NetworkRequest& network, const egress::Rule& rule);
// Whether its hosts are what the rule is about.
bool MayGoTo(const SecretInfo& secret, const egress::Rule& rule);
// What the commands inside hold instead. It goes over what else they are given under that name.
void AddSecretVariables(const Sandbox& sandbox, std::vector<std::string>& env);

// Secrets: kept in the vault, granted to sandboxes by name, put in by cloche-egress.
class Secrets {
 public:
  Secrets(SandboxTable& table, const std::string& directory) : table_(table), vault_(directory) {}

  // A secret has another value, other hosts, or is gone: its holders learn of it.
  std::function<Task<void>(uint32_t owner, std::string name)> on_changed;

  Task<Status> Set(std::string name, SecretRequest request, Client client);
  Task<Status> Rotate(std::string name, std::string value, Client client);
  Task<Status> Remove(std::string name, Client client);
  Result<Json> ToJson(const Client& client, const std::string& only = "");

  // What is new in it gets a placeholder, and the rules that lead to its hosts.
  Status Grant(NetworkRequest& network, uint32_t owner);
  Result<SecretInfo> Find(uint32_t owner, const std::string& name) const {
    return vault_.Find(owner, name);
  }
  // What cannot be read cannot be redacted, nor what is too much.
  Status CheckCanRedact(const Sandbox& sandbox);
  // For cloche-egress. An empty value: it is gone, and what wants it is refused.
  SecretValues ValuesFor(const Sandbox& sandbox) const;
  // What this sandbox's requests have carried, or could have, and where to.
  std::vector<RedactedValue> RedactedFor(const Sandbox& sandbox) const;
  void CountUses(uint32_t owner, const Json& event);
  void KeepCounts() { vault_.KeepCounts(); }
  void ForgetOldValues();  // with the last sandbox that has used them

 private:
  Task<Status> Keep(SecretInfo info, std::string& value);
  Status CheckHolders(uint32_t owner, const std::string& name, const std::string& value) const;
  bool IsRedacted(uint32_t owner, const std::string& name) const;

  SandboxTable& table_;
  Vault vault_;
};

}  // namespace cloche::daemon
