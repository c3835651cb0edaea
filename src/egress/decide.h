#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "egress/rule.h"

namespace cloche::egress {

// Where a connection wants to go, parsed once. Everything is decided on this, and dialled from it.
struct Target {
  std::string name;   // normal; empty: an address was asked for
  IpAddress address;  // without a name
  uint16_t port = 0;

  std::string Host() const { return name.empty() ? FormatIpAddress(address) : name; }
  std::string Text() const;  // api.example.com:443
  bool operator==(const Target&) const = default;
};

struct KindSet {
  bool https = false, http = false, tcp = false, ssh = false;
  bool any() const { return https || http || tcp || ssh; }
  bool Has(Kind kind) const;
};

struct Decision {
  bool allowed = false;
  std::string rule;    // its id
  std::string reason;  // of a denial
};

struct ConnectionDecision : Decision {
  KindSet kinds;  // which rules would let it through
  // Rules that speak of methods, paths or secrets. Where they are, requests must be read.
  bool reads_requests = false;
  // Such rules deny or carry a secret, or nothing else allows https: without reading requests
  // nothing may pass.
  bool must_read_requests = false;
};

// True if the resolver may give an address for this name: a rule in force grants some port of it.
bool NameIsGranted(std::span<const Rule> rules, std::string_view name, int64_t now);

// Deny overrides allow. Without a rule it is refused.
ConnectionDecision DecideConnection(std::span<const Rule> rules, const Target& target, int64_t now);

// A name has led to `address`, for a connection of this kind. Addresses that are not public are
// refused unless a rule names them for this port: one with this host, or one without a host that
// grants as much there to programs that name the address itself.
Decision DecideAddress(std::span<const Rule> rules, const Target& target, Kind kind,
                       const IpAddress& address, int64_t now);

// The names of secrets that rules would put in there.
std::set<std::string> SecretsAt(std::span<const Rule> rules, const Target& target, int64_t now);

// One request on a connection that was let through as `kind`. `path` is the request target without
// its query.
struct Request {
  std::string_view method;
  std::string_view path;
  bool overrides_method = false;  // X-HTTP-Method-Override and its kin
  bool overrides_path = false;    // X-Original-URL and its kin
};
struct RequestDecision : Decision {
  const Rule* with = nullptr;      // the rule that lets it through
  std::vector<SecretUse> secrets;  // of all that do
  bool restricted = false;         // rules there tell requests apart: one must not hide in another
};
RequestDecision DecideRequest(std::span<const Rule> rules, const Target& target, Kind kind,
                              const Request& request, int64_t now);

// "/v1" covers /v1 and /v1/x, not /v10.
bool PathIsBelow(std::string_view prefix, std::string_view path);
// False when two servers could read it as two paths: dot segments, //, \, ;, encoded ones.
bool PathIsPlain(std::string_view path);

// The earliest expiry after `now`, 0 when there is none.
int64_t NextExpiry(std::span<const Rule> rules, int64_t now);

// The message for people: what was refused, and how to grant it.
std::string DenialText(const Target& target, std::string_view sandbox);
// To be appended when DecideAddress refused: the rule that binds the name to this address.
std::string AddressGrantText(const Target& target, Kind kind, const IpAddress& address,
                             std::string_view sandbox);

}  // namespace cloche::egress
