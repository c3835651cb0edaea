#include "egress/control.h"

#include <fmt/core.h>

#include "base/text.h"
#include "egress/host_name.h"
#include "egress/secret_limits.h"

namespace cloche::egress {
namespace {

using nlohmann::json;

std::unexpected<Error> Bad(std::string_view field, std::string_view why) {
  return Fail(Code::kInvalid,
              fmt::format("control: {}: {}", EscapeForTerminal(field.substr(0, 40)), why));
}

Status ReadText(const json& object, const char* key, std::string& text) {
  const auto found = object.find(key);
  if (found == object.end()) return Bad(key, "is missing");
  if (!found->is_string()) return Bad(key, "must be a text");
  text = found->get<std::string>();
  return {};
}

Status OnlyKnown(const json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) return Bad(key, "is unknown");
  }
  return {};
}

Result<Limits> ReadLimits(const json& object) {
  Limits limits;
  if (!object.is_object()) return Bad("limits", "must be an object");
  struct {
    std::string_view key;
    uint64_t* value;
  } const fields[] = {{"requests_per_second", &limits.requests_per_second},
                      {"connections", &limits.connections},
                      {"bytes_up", &limits.bytes_up},
                      {"bytes_down", &limits.bytes_down},
                      {"host_requests_per_second", &limits.host_requests_per_second},
                      {"host_connections", &limits.host_connections},
                      {"host_bytes_up", &limits.host_bytes_up},
                      {"host_bytes_down", &limits.host_bytes_down},
                      {"idle_seconds", &limits.idle_seconds}};
  for (const auto& [name, value] : object.items()) {
    const std::string& key = name;
    const auto* field = std::find_if(std::begin(fields), std::end(fields),
                                     [&](const auto& each) { return each.key == key; });
    if (field == std::end(fields)) return Bad(key, "is unknown");
    if (!value.is_number_unsigned()) return Bad(key, "must be a number");
    *field->value = value.get<uint64_t>();
  }
  return limits;
}

Result<SocketUse> ReadSocket(const json& value) {
  constexpr const char* kNames[] = {"tcp4", "tcp6", "dns4", "dns6", "proxy4"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (value == kNames[i]) return static_cast<SocketUse>(i);
  }
  return Bad("sockets", "want tcp4, tcp6, dns4, dns6 or proxy4");
}

Result<CertificateAuthority> ReadAuthority(const json& object) {
  if (!object.is_object()) return Bad("ca", "must be an object");
  CLOCHE_TRY(OnlyKnown(object, {"certificate", "key"}));
  CertificateAuthority ca;
  CLOCHE_TRY(ReadText(object, "certificate", ca.certificate));
  CLOCHE_TRY(ReadText(object, "key", ca.key));
  return ca;
}

Result<std::vector<Canary>> ReadCanaries(const json& list) {
  if (!list.is_array()) return Bad("canaries", "want a list");
  std::vector<Canary> canaries;
  for (const json& each : list) {
    if (!each.is_object()) return Bad("canaries", "want objects");
    CLOCHE_TRY(OnlyKnown(each, {"name", "value"}));
    Canary canary;
    CLOCHE_TRY(ReadText(each, "name", canary.name));
    CLOCHE_TRY(ReadText(each, "value", canary.value));
    canaries.push_back(std::move(canary));
  }
  return canaries;
}

Result<ControlMessage> ReadOpen(const json& object, const std::string& sandbox) {
  CLOCHE_TRY(OnlyKnown(
      object, {"op", "sandbox", "name", "sockets", "rules", "limits", "ca", "canaries", "owners"}));
  OpenMessage message{.sandbox = sandbox};
  if (object.contains("name")) CLOCHE_TRY(ReadText(object, "name", message.name));
  const json sockets = object.value("sockets", json());
  if (!sockets.is_array() || sockets.empty()) return Bad("sockets", "want a list");
  for (const json& each : sockets) {
    ASSIGN_OR_RETURN(const SocketUse use, ReadSocket(each));
    message.sockets.push_back(use);
  }
  ASSIGN_OR_RETURN(message.rules, RulesFromJson(object.value("rules", json())));
  if (object.contains("limits")) {
    ASSIGN_OR_RETURN(message.limits, ReadLimits(object["limits"]));
  }
  if (object.contains("ca")) {
    ASSIGN_OR_RETURN(message.ca, ReadAuthority(object["ca"]));
  }
  if (object.contains("canaries")) {
    ASSIGN_OR_RETURN(message.canaries, ReadCanaries(object["canaries"]));
  }
  if (object.contains("owners")) {
    if (!object["owners"].is_boolean()) return Bad("owners", "must be true or false");
    message.owners = object["owners"].get<bool>();
  }
  return message;
}

Result<ControlMessage> ReadResolver(const json& object) {
  CLOCHE_TRY(OnlyKnown(object, {"op", "nameservers", "hosts"}));
  ResolverMessage message;
  const json servers = object.value("nameservers", json::array());
  const json hosts = object.value("hosts", json::array());
  if (!servers.is_array() || !hosts.is_array()) return Bad("resolver", "want lists");
  for (const json& each : servers) {
    if (!each.is_string()) return Bad("nameservers", "want texts");
    const std::string text = each.get<std::string>();
    if (const auto address = ParseIpAddress(text)) {
      message.nameservers.emplace_back(*address, uint16_t{53});
      continue;
    }
    const auto authority = ParseAuthority(text);
    // As with hosts: one that nobody can ask (fe80::1%eth0) must not take the others along.
    if (!authority || !authority->is_address) continue;
    message.nameservers.emplace_back(*ParseIpAddress(authority->host),
                                     authority->port == 0 ? uint16_t{53} : authority->port);
  }
  for (const json& each : hosts) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_string())
      return Bad("hosts", "want pairs of address and name");
    const auto address = ParseIpAddress(each[0].get<std::string>());
    const auto name = NormaliseHost(each[1].get<std::string>());
    // A machine's hosts file has lines nobody can use (fe80::1%lo0); they hurt nobody here.
    if (address && name) message.hosts.emplace_back(*address, *name);
  }
  return message;
}

Result<ControlMessage> ReadSecretValue(json& object, const std::string& sandbox) {
  SecretMessage message{.sandbox = sandbox};
  CLOCHE_TRY(OnlyKnown(object, {"op", "sandbox", "name", "value"}));
  CLOCHE_TRY(ReadText(object, "name", message.name));
  CLOCHE_TRY(ReadText(object, "value", message.value));
  Wipe(object["value"].get_ref<std::string&>());
  if (message.value.size() > kLongestValue) return Bad("value", "is too long");
  // In a header a line break would begin another one.
  for (const char c : message.value) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      return Bad("value", "has control characters in it");
  }
  return message;
}

Result<ControlMessage> ReadRedact(json& object, const std::string& sandbox) {
  RedactMessage message{.sandbox = sandbox};
  CLOCHE_TRY(OnlyKnown(object, {"op", "sandbox", "value", "hosts"}));
  CLOCHE_TRY(ReadText(object, "value", message.value));
  Wipe(object["value"].get_ref<std::string&>());
  if (message.value.size() > kLongestValue) return Bad("value", "is too long");
  const json hosts = object.value("hosts", json());
  if (!hosts.is_array()) return Bad("hosts", "want a list");
  for (const json& each : hosts) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() ||
        !each[1].is_number_unsigned() || each[1] > 65535u)
      return Bad("hosts", "want pairs of name and port");
    ASSIGN_OR_RETURN(std::string name, NormaliseHost(each[0].get<std::string>()));
    message.hosts.emplace_back(std::move(name), each[1].get<uint16_t>());
  }
  return message;
}

}  // namespace

Result<ControlMessage> ParseControlMessage(std::string_view text, std::string& sandbox) {
  sandbox.clear();
  if (text.size() > kMostControlMessage) return Bad("message", "is too long");
  json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return Bad("message", "is not a JSON object");
  std::string op;
  CLOCHE_TRY(ReadText(object, "op", op));
  if (op == "resolver") return ReadResolver(object);
  if (op == "host_ca") {
    CLOCHE_TRY(OnlyKnown(object, {"op", "certificates", "first", "more"}));
    HostCaMessage message;
    CLOCHE_TRY(ReadText(object, "certificates", message.certificates));
    for (const auto& [key, value] :
         {std::pair("first", &message.first), std::pair("more", &message.more)}) {
      if (!object.contains(key)) continue;
      if (!object[key].is_boolean()) return Bad(key, "must be true or false");
      *value = object[key].get<bool>();
    }
    return message;
  }
  CLOCHE_TRY(ReadText(object, "sandbox", sandbox));
  if (sandbox.empty() || sandbox.size() > 128) return Bad("sandbox", "is not an id");
  if (op == "open") return ReadOpen(object, sandbox);
  if (op == "secret") return ReadSecretValue(object, sandbox);
  if (op == "redact") return ReadRedact(object, sandbox);
  if (op == "rules") {
    CLOCHE_TRY(OnlyKnown(object, {"op", "sandbox", "rules"}));
    ASSIGN_OR_RETURN(std::vector<Rule> rules, RulesFromJson(object.value("rules", json())));
    return RulesMessage{sandbox, std::move(rules)};
  }
  if (op == "authority") {
    CLOCHE_TRY(OnlyKnown(object, {"op", "sandbox", "ca"}));
    ASSIGN_OR_RETURN(CertificateAuthority ca, ReadAuthority(object.value("ca", json())));
    return AuthorityMessage{sandbox, std::move(ca)};
  }
  if (op == "limits") {
    CLOCHE_TRY(OnlyKnown(object, {"op", "sandbox", "limits"}));
    ASSIGN_OR_RETURN(const Limits limits, ReadLimits(object.value("limits", json())));
    return LimitsMessage{sandbox, limits};
  }
  if (op == "owner") {
    CLOCHE_TRY(OnlyKnown(object, {"op", "sandbox", "connection"}));
    const json number = object.value("connection", json());
    if (!number.is_number_unsigned()) return Bad("connection", "must be a number");
    return OwnerMessage{sandbox, number.get<uint64_t>()};
  }
  if (op == "close") {
    CLOCHE_TRY(OnlyKnown(object, {"op", "sandbox"}));
    return CloseMessage{sandbox};
  }
  return Bad("op", "is unknown");
}

}  // namespace cloche::egress
