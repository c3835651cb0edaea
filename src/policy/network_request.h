#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cloche {

// One line of what a sandbox may reach, as a person wrote it; docs/network.md has the form.
struct NetworkRule {
  std::string id;  // "r1"; given by the daemon
  bool allow = true;
  std::string text;
  std::optional<double> expires;  // seconds since 1970
  std::string secret;             // that it carries, by name
  bool operator==(const NetworkRule&) const = default;
};

// A secret that rules may carry, and what the sandbox holds instead of its value.
struct SecretGrant {
  std::string name;
  std::string variable;         // of every command; empty: as the secret says
  std::string id, placeholder;  // given by the daemon
  bool operator==(const SecretGrant&) const = default;
};

// Where a secret has been granted, once. Its values must not come back from there, although no rule
// carries it any more.
struct RedactedHost {
  std::string id;  // of the secret
  std::string host;
  uint16_t port = 443;
  bool operator==(const RedactedHost&) const = default;
};

// The key "network" of a request, and what has become of it since. Without a rule there is no
// network.
struct NetworkRequest {
  std::vector<NetworkRule> rules;
  std::map<std::string, uint64_t> limits;  // only those asked for
  bool proxy_env = false;                  // set http_proxy and its kin for every command
  std::vector<SecretGrant> secrets;
  std::vector<RedactedHost> redacted;  // kept by the daemon
  bool operator==(const NetworkRequest&) const = default;
};

inline constexpr size_t kMostNetworkRules = 200;
inline constexpr size_t kMostRedactedHosts = 1000;

class FieldReader;
void ReadNetwork(FieldReader& reader, NetworkRequest& out);

nlohmann::json NetworkToJson(const NetworkRequest& network);
// Ids for those that have none.
void NumberRules(NetworkRequest& network);

// A change while it lives: POST /v1/sandboxes/REF/network.
struct NetworkChange {
  std::vector<NetworkRule> add;
  std::vector<std::string> remove;  // ids, or texts
  std::vector<SecretGrant> secrets;
};
// `now` in seconds since 1970: "for" counts from there.
Result<NetworkChange> ParseNetworkChange(const nlohmann::json& body, double now);

}  // namespace cloche
