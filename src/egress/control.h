#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"
#include "egress/canary_set.h"
#include "egress/rule.h"

namespace cloche::egress {

// Messages of the daemon to cloche-egress, one JSON object each: docs/formats/egress.md.

inline constexpr size_t kMostControlMessage = 64 << 10;
inline constexpr int kControlSocket = 3;

// 0 means no limit. Bytes are counted over the sandbox's life, rates have a burst of one second.
struct Limits {
  uint64_t requests_per_second = 0;
  uint64_t connections = 0;
  uint64_t bytes_up = 0, bytes_down = 0;
  uint64_t host_requests_per_second = 0;
  uint64_t host_connections = 0;
  uint64_t host_bytes_up = 0, host_bytes_down = 0;
  uint64_t idle_seconds = 0;  // 0: 15 minutes
  bool operator==(const Limits&) const = default;
};

enum class SocketUse : uint8_t { kTcp4, kTcp6, kDns4, kDns6, kProxy4 };

struct CertificateAuthority {
  std::string certificate, key;  // PEM
};

struct OpenMessage {
  std::string sandbox, name;
  std::vector<SocketUse> sockets;  // a descriptor each, in this order
  std::vector<Rule> rules;
  Limits limits;
  std::optional<CertificateAuthority> ca;
  std::vector<Canary>
      canaries;         // decoys of this sandbox; what leaves it is looked through for them
  bool owners = false;  // `owner` follows each event of a connection that begins or was refused
};
struct RulesMessage {
  std::string sandbox;
  std::vector<Rule> rules;
};
struct LimitsMessage {
  std::string sandbox;
  Limits limits;
};
struct CloseMessage {
  std::string sandbox;
};
struct ResolverMessage {
  std::vector<std::pair<IpAddress, uint16_t>> nameservers;
  std::vector<std::pair<IpAddress, std::string>> hosts;
};
struct AuthorityMessage {
  std::string sandbox;
  CertificateAuthority ca;
};
struct SecretMessage {
  std::string sandbox;
  std::string name, value;  // an empty value forgets it
};
// A value that has been sent to these hosts, and is not to come back from them, although no rule
// speaks of it any more.
struct RedactMessage {
  std::string sandbox, value;
  std::vector<std::pair<std::string, uint16_t>> hosts;
};
struct OwnerMessage {
  std::string sandbox;
  uint64_t connection = 0;
};
struct HostCaMessage {
  std::string certificates;  // PEM; may come in parts, `first` begins anew
  bool first = true;
  bool more = false;  // nothing changes before the last part
};

using ControlMessage =
    std::variant<OpenMessage, RulesMessage, LimitsMessage, CloseMessage, ResolverMessage,
                 AuthorityMessage, SecretMessage, RedactMessage, OwnerMessage, HostCaMessage>;

// Refuses unknown operations and fields. `sandbox` is set even then, when it could be read: a
// sandbox whose rules cannot be read has none.
Result<ControlMessage> ParseControlMessage(std::string_view text, std::string& sandbox);

}  // namespace cloche::egress
