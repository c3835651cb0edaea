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
// Whether a secret has been granted for where this rule leads.
bool HasBeenSent(const NetworkRequest& network, const egress::Rule& rule);
// Whether the rule leads to the secret's hosts.
bool MayGoTo(const SecretInfo& secret, const egress::Rule& rule);
// Sets the placeholders that commands inside get instead; they override other variables of that
// name.
void AddSecretVariables(const Sandbox& sandbox, std::vector<std::string>& env);

// Secrets: stored in the vault, granted to sandboxes by name, inserted by cloche-egress.
class Secrets {
 public:
  Secrets(SandboxTable& table, const std::string& directory) : table_(table), vault_(directory) {}

  // A secret got another value or other hosts, or is gone: its holders must learn of it.
  std::function<Task<void>(uint32_t owner, std::string name)> on_changed;

  Task<Status> Set(std::string name, SecretRequest request, Client client);
  Task<Status> Rotate(std::string name, std::string value, Client client);
  Task<Status> Remove(std::string name, Client client);
  Result<Json> ToJson(const Client& client, const std::string& only = "");

  // Gives new grants a placeholder, and adds the rules that lead to their hosts.
  Status Grant(NetworkRequest& network, uint32_t owner);
  Result<SecretInfo> Find(uint32_t owner, const std::string& name) const {
    return vault_.Find(owner, name);
  }
  // Fails if values cannot be read, and so not redacted, or are too many.
  Status CheckCanRedact(const Sandbox& sandbox);
  // For cloche-egress. An empty value: the secret is gone, and requests that need it are refused.
  SecretValues ValuesFor(const Sandbox& sandbox) const;
  // The values that this sandbox's requests have carried, or could have, and to which hosts.
  std::vector<RedactedValue> RedactedFor(const Sandbox& sandbox) const;
  void CountUses(uint32_t owner, const Json& event);
  void KeepCounts() { vault_.KeepCounts(); }
  void ForgetOldValues();  // with the last sandbox that used them

 private:
  Task<Status> Keep(SecretInfo info, std::string& value);
  Status CheckHolders(uint32_t owner, const std::string& name, const std::string& value) const;
  bool IsRedacted(uint32_t owner, const std::string& name) const;

  SandboxTable& table_;
  Vault vault_;
};

}  // namespace cloche::daemon
