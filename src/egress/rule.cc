#include "egress/rule.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "egress/host_name.h"

namespace cloche::egress {
namespace {

using nlohmann::json;

constexpr size_t kMostRules = 4096;
constexpr const char* kKindNames[] = {"https", "http", "tcp", "ssh"};

std::unexpected<Error> Bad(std::string_view field, std::string_view why) {
  return Fail(Code::kInvalid, fmt::format("rule: {}: {}", field, why));
}

Result<std::string> Text(const json& value, std::string_view field) {
  if (!value.is_string()) return Bad(field, "must be a text");
  return value.get<std::string>();
}

Result<uint16_t> Port(const json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() < 1 || value.get<uint64_t>() > 65535)
    return Bad("ports", "want numbers from 1 to 65535");
  return static_cast<uint16_t>(value.get<uint64_t>());
}

Status ReadPorts(const json& value, Rule& rule) {
  if (!value.is_array() || value.size() != 2) return Bad("ports", "want [from, to]");
  ASSIGN_OR_RETURN(rule.first_port, Port(value[0]));
  ASSIGN_OR_RETURN(rule.last_port, Port(value[1]));
  return {};
}

Result<std::string> ReadHost(const std::string& text) {
  if (text == kAnyHost) return text;
  const bool wild = text.starts_with("*.");
  ASSIGN_OR_RETURN(const std::string name, NormaliseHost(wild ? text.substr(2) : text));
  return wild ? "*." + name : name;
}

Status ReadMethods(const json& value, Rule& rule) {
  if (!value.is_array() || value.empty()) return Bad("methods", "want a list that is not empty");
  for (const json& each : value) {
    ASSIGN_OR_RETURN(std::string method, Text(each, "methods"));
    rule.methods.push_back(std::move(method));
  }
  return {};
}

Status ReadSecret(const json& value, Rule& rule) {
  if (!value.is_object()) return Bad("secret", "must be an object");
  SecretUse use;
  for (const auto& [key, field] : value.items()) {
    if (key == "name") {
      ASSIGN_OR_RETURN(use.name, Text(field, "secret.name"));
    } else if (key == "placeholder") {
      ASSIGN_OR_RETURN(use.placeholder, Text(field, "secret.placeholder"));
    } else if (key == "where" && field.is_array()) {
      for (const json& each : field) {
        if (each == "header") {
          use.header = true;
        } else if (each == "basic") {
          use.basic = true;
        } else if (each == "query") {
          use.query = true;
        } else if (each == "json") {
          use.json = true;
        } else {
          return Bad("secret.where", "want header, basic, query or json");
        }
      }
    } else {
      return Bad("secret", "has an unknown field");
    }
  }
  if (use.name.empty() || use.placeholder.size() < 16)
    return Bad("secret", "needs a name and a placeholder of at least 16 bytes");
  rule.secret = std::move(use);
  return {};
}

Status ReadField(const std::string& key, const json& value, Rule& rule) {
  if (key == "id") {
    ASSIGN_OR_RETURN(rule.id, Text(value, key));
  } else if (key == "action") {
    if (value != "allow" && value != "deny") return Bad(key, "want allow or deny");
    rule.allow = value == "allow";
  } else if (key == "kind") {
    ASSIGN_OR_RETURN(const std::string name, Text(value, key));
    const auto kind = KindFromName(name);
    if (!kind) return Bad(key, "want https, http, tcp or ssh");
    rule.kind = *kind;
  } else if (key == "host") {
    ASSIGN_OR_RETURN(const std::string host, Text(value, key));
    ASSIGN_OR_RETURN(rule.host, ReadHost(host));
  } else if (key == "cidr") {
    ASSIGN_OR_RETURN(const std::string text, Text(value, key));
    rule.range = ParseIpRange(text);
    if (!rule.range) return Bad(key, "want an address or a range such as 10.0.0.0/8");
  } else if (key == "ports") {
    return ReadPorts(value, rule);
  } else if (key == "methods") {
    return ReadMethods(value, rule);
  } else if (key == "path_prefix") {
    ASSIGN_OR_RETURN(rule.path_prefix, Text(value, key));
  } else if (key == "expires") {
    if (!value.is_number_unsigned()) return Bad(key, "want seconds since 1970");
    rule.expires = value.get<int64_t>();
    if (rule.expires <= 0) return Bad(key, "want seconds since 1970");
  } else if (key == "secret") {
    return ReadSecret(value, rule);
  } else {
    return Bad(EscapeForTerminal(key), "is unknown");
  }
  return {};
}

bool IsMethod(std::string_view method) {
  return !method.empty() && method.size() <= 32 &&
         std::all_of(method.begin(), method.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || c == '-'; });
}

}  // namespace

const char* KindName(Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::optional<Kind> KindFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kKindNames); ++i) {
    if (name == kKindNames[i]) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

Status CheckRule(const Rule& rule) {
  if (rule.host.empty() && !rule.range) return Bad("host", "is missing, and so is cidr");
  if (rule.first_port == 0 || rule.first_port > rule.last_port)
    return Bad("ports", "the first is above the last");
  for (const std::string& method : rule.methods) {
    if (!IsMethod(method)) return Bad("methods", "want words in capitals, such as GET");
  }
  const bool http = rule.kind == Kind::kHttps || rule.kind == Kind::kHttp;
  if (rule.LooksIntoRequests() && !http)
    return Bad("kind", "only http and https know methods, paths and secrets");
  if (rule.secret && rule.kind != Kind::kHttps) return Bad("secret", "only https carries one");
  if (rule.host == kAnyHost && (rule.kind != Kind::kHttps || !rule.allow || rule.range))
    return Bad("host", "* is for https only, and for no secret, denial or range");
  if (rule.secret && (rule.host.empty() || rule.host.starts_with('*')))
    return Bad("secret", "belongs to one host");
  if (!rule.path_prefix.empty()) {
    const bool plain = std::all_of(rule.path_prefix.begin(), rule.path_prefix.end(), [](char c) {
      return c > ' ' && c < 0x7f && c != '%' && c != '?' && c != '#' && c != '\\' && c != ';';
    });
    if (rule.path_prefix[0] != '/' || !plain || rule.path_prefix.find("//") != std::string::npos ||
        (rule.path_prefix + "/").find("/../") != std::string::npos ||
        (rule.path_prefix + "/").find("/./") != std::string::npos)
      return Bad("path_prefix", "want a plain path such as /v1");
  }
  return {};
}

Result<Rule> RuleFromJson(const json& object) {
  if (!object.is_object()) return Fail(Code::kInvalid, "rule: must be an object");
  if (!object.contains("action") || !object.contains("kind") || !object.contains("ports"))
    return Fail(Code::kInvalid, "rule: action, kind and ports are needed");
  Rule rule;
  for (const auto& [key, value] : object.items()) CLOCHE_TRY(ReadField(key, value, rule));
  CLOCHE_TRY(CheckRule(rule));
  return rule;
}

Result<std::vector<Rule>> RulesFromJson(const json& array) {
  if (!array.is_array()) return Fail(Code::kInvalid, "rules: must be a list");
  if (array.size() > kMostRules) return Fail(Code::kInvalid, "rules: there are too many");
  std::vector<Rule> rules;
  for (const json& each : array) {
    ASSIGN_OR_RETURN(Rule rule, RuleFromJson(each));
    rules.push_back(std::move(rule));
  }
  return rules;
}

nlohmann::ordered_json ToJson(const Rule& rule) {
  nlohmann::ordered_json object{
      {"id", rule.id}, {"action", rule.allow ? "allow" : "deny"}, {"kind", KindName(rule.kind)}};
  if (!rule.host.empty()) object["host"] = rule.host;
  if (rule.range) object["cidr"] = FormatIpRange(*rule.range);
  object["ports"] = {rule.first_port, rule.last_port};
  if (!rule.methods.empty()) object["methods"] = rule.methods;
  if (!rule.path_prefix.empty()) object["path_prefix"] = rule.path_prefix;
  if (rule.expires != 0) object["expires"] = rule.expires;
  if (rule.secret) {
    nlohmann::ordered_json where = nlohmann::ordered_json::array();
    if (rule.secret->header) where.push_back("header");
    if (rule.secret->basic) where.push_back("basic");
    if (rule.secret->query) where.push_back("query");
    if (rule.secret->json) where.push_back("json");
    object["secret"] = {
        {"name", rule.secret->name}, {"placeholder", rule.secret->placeholder}, {"where", where}};
  }
  return object;
}

}  // namespace cloche::egress
