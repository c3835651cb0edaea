#include "policy/network_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/nearest_word.h"
#include "base/text.h"
#include "policy/fields.h"
#include "policy/limits.h"
#include "policy/network_presets.h"
#include "policy/secret_request.h"

namespace cloche {
namespace {

using nlohmann::json;

constexpr size_t kMostText = 1024;
constexpr size_t kMostId = 16;
constexpr size_t kMostSecrets = 32;
constexpr double kMostTime = 1e12;
constexpr std::array kLimits = {"requests_per_second", "connections", "bytes_up", "bytes_down"};

bool IsRuleId(std::string_view id) {
  return id.size() >= 2 && id.size() <= kMostId && id[0] == 'r' &&
         std::ranges::all_of(id.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

Status ReadRule(const json& object, NetworkRule& out, double now) {
  FieldReader reader(object, "rules");
  std::string action = "allow";
  reader.Text("action", action, 16);
  if (action != "allow" && action != "deny")
    reader.Refuse("action", "it is neither allow nor deny", "give allow or deny");
  out.allow = action == "allow";
  reader.Text("rule", out.text, kMostText);
  if (out.text.empty() || std::ranges::any_of(out.text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      }))
    reader.Refuse("rule", "it names nothing", "give a destination such as api.example.com:443");
  reader.Text("id", out.id, kMostId);
  if (!out.id.empty() && !IsRuleId(out.id))
    reader.Refuse("id", "it is not an id of a rule", "leave it out");
  reader.Seconds("expires", out.expires, {.least = 1, .most = kMostTime});
  std::optional<double> lasts;
  reader.Seconds("for", lasts, {.least = kLeastSeconds, .most = kMostSeconds});
  reader.Text("secret", out.secret, kMostText);
  if (!out.secret.empty() && (!out.allow || !IsValidSecretName(out.secret)))
    reader.Refuse("secret", "it is not a name of a secret, or the rule denies",
                  "name one that cloche secret ls shows");
  if (lasts && out.expires)
    reader.Refuse("for", "it has an end already", "leave out for or expires");
  if (lasts && now == 0)
    reader.Refuse("for", "a rule of a new sandbox lasts as long as it does",
                  "give expires, in seconds since 1970");
  if (lasts) out.expires = now + *lasts;
  return reader.Finish();
}

void ReadRules(FieldReader& reader, const char* key, std::vector<NetworkRule>& out, double now) {
  const json* list = reader.Find(key);
  if (!list) return;
  if (!list->is_array() || list->size() > kMostNetworkRules)
    return reader.Refuse(key, "it is not a list of rules",
                         fmt::format("give at most {} of {{action, rule}}", kMostNetworkRules));
  std::set<std::string> ids;
  for (const json& each : *list) {
    NetworkRule rule;
    reader.Take(ReadRule(each, rule, now));
    if (!rule.id.empty() && !ids.insert(rule.id).second)
      reader.Refuse(key, "two rules have the same id", "leave ids out");
    if (!rule.text.starts_with('@')) {
      out.push_back(std::move(rule));
      continue;
    }
    const NetworkPreset* preset = FindNetworkPreset(std::string_view(rule.text).substr(1));
    if (!preset) {
      std::vector<std::string> known;
      for (const NetworkPreset& other : NetworkPresets())
        known.push_back("@" + std::string(other.name));
      const std::string near = NearestWord(rule.text, known);
      reader.Refuse(key, fmt::format("there is no preset {}", EscapeForTerminal(rule.text)),
                    near.empty()
                        ? "take one of " + NetworkPresetNames()
                        : fmt::format("did you mean {}? cloche net presets lists all", near));
      continue;
    }
    for (const std::string_view text : preset->rules) {
      out.push_back(rule);
      out.back().id = "";
      out.back().text = text;
    }
  }
  if (out.size() > kMostNetworkRules)
    reader.Refuse(key, "with its presets it has too many rules",
                  fmt::format("give at most {}", kMostNetworkRules));
}

void ReadSecrets(FieldReader& reader, std::vector<SecretGrant>& out) {
  const json* list = reader.Find("secrets");
  if (!list) return;
  if (!list->is_array() || list->size() > kMostSecrets)
    return reader.Refuse("secrets", "it is not a list of secrets",
                         fmt::format("give at most {} of {{name, variable}}", kMostSecrets));
  for (const json& each : *list) {
    SecretGrant grant;
    FieldReader inner(each, "secrets");
    inner.Text("name", grant.name, kMostText);
    if (!IsValidSecretName(grant.name))
      inner.Refuse("name", "it is not a name of a secret", "name one that cloche secret ls shows");
    inner.Text("variable", grant.variable, kMostText);
    if (!grant.variable.empty() && !IsValidVariable(grant.variable))
      inner.Refuse("variable", "it is not a name of a variable, or not one for a secret",
                   "give one such as API_TOKEN");
    inner.Text("id", grant.id, kMostText);
    inner.Text("placeholder", grant.placeholder, kMostText);
    if (std::ranges::find(out, grant.name, &SecretGrant::name) != out.end())
      inner.Refuse("name", "it is there twice", "name each secret once");
    reader.Take(inner.Finish());
    out.push_back(std::move(grant));
  }
}

void ReadMasked(FieldReader& reader, std::vector<RedactedHost>& out) {
  const json* list = reader.Find("masked");
  if (!list) return;
  if (!list->is_array() || list->size() > kMostRedactedHosts)
    return reader.Refuse("masked", "it is not a list of hosts",
                         "leave it out: the daemon keeps it");
  for (const json& each : *list) {
    RedactedHost redacted;
    FieldReader inner(each, "masked");
    inner.Text("id", redacted.id, kMostText);
    inner.Text("host", redacted.host, kMostText);
    std::optional<uint64_t> port;
    inner.Integer("port", port, {.least = 1, .most = 65535});
    if (port) redacted.port = static_cast<uint16_t>(*port);
    reader.Take(inner.Finish());
    out.push_back(std::move(redacted));
  }
}

}  // namespace

void ReadNetwork(FieldReader& reader, NetworkRequest& out) {
  const json* object = reader.Object("network");
  if (!object) return;
  FieldReader inner(*object, "network");
  ReadRules(inner, "rules", out.rules, 0);
  ReadSecrets(inner, out.secrets);
  ReadMasked(inner, out.redacted);
  inner.Bool("proxy_env", out.proxy_env);
  if (const json* limits = inner.Object("limits")) {
    FieldReader values(*limits, "network.limits");
    for (const char* name : kLimits) {
      std::optional<uint64_t> value;
      values.Integer(name, value, {.least = 1, .most = uint64_t{1} << 50});
      if (value) out.limits[name] = *value;
    }
    inner.Take(values.Finish());
  }
  reader.Take(inner.Finish());
}

json NetworkToJson(const NetworkRequest& network) {
  json rules = json::array();
  for (const NetworkRule& each : network.rules) {
    json rule = {{"id", each.id}, {"action", each.allow ? "allow" : "deny"}, {"rule", each.text}};
    if (each.expires) rule["expires"] = *each.expires;
    if (!each.secret.empty()) rule["secret"] = each.secret;
    rules.push_back(std::move(rule));
  }
  json out = {{"rules", std::move(rules)}, {"proxy_env", network.proxy_env}};
  if (!network.limits.empty()) out["limits"] = network.limits;
  for (const SecretGrant& each : network.secrets)
    out["secrets"].push_back({{"name", each.name},
                              {"variable", each.variable},
                              {"id", each.id},
                              {"placeholder", each.placeholder}});
  for (const RedactedHost& each : network.redacted)
    out["masked"].push_back({{"id", each.id}, {"host", each.host}, {"port", each.port}});
  return out;
}

void NumberRules(NetworkRequest& network) {
  uint64_t last = 0;
  for (const NetworkRule& each : network.rules)
    if (IsRuleId(each.id)) last = std::max<uint64_t>(last, std::stoull(each.id.substr(1)));
  for (NetworkRule& each : network.rules)
    if (each.id.empty()) each.id = fmt::format("r{}", ++last);
}

Result<NetworkChange> ParseNetworkChange(const json& body, double now) {
  NetworkChange change;
  FieldReader reader(body, "");
  ReadRules(reader, "add", change.add, now);
  reader.Texts("remove", change.remove, kMostNetworkRules, kMostText);
  for (size_t i = 0, given = change.remove.size(); i < given; ++i) {
    const std::string each = change.remove[i];
    if (const NetworkPreset* preset =
            each.starts_with('@') ? FindNetworkPreset(std::string_view(each).substr(1)) : nullptr)
      change.remove.insert(change.remove.end(), preset->rules.begin(), preset->rules.end());
  }
  std::erase_if(change.remove, [](const std::string& each) {
    return each.starts_with('@') && FindNetworkPreset(std::string_view(each).substr(1));
  });
  ReadSecrets(reader, change.secrets);
  for (SecretGrant& each : change.secrets) each.id = each.placeholder = "";
  if (change.add.empty() && change.remove.empty() && change.secrets.empty())
    reader.Refuse("add", "nothing to change", "give rules to add, or to remove");
  for (const NetworkRule& each : change.add)
    if (!each.id.empty()) reader.Refuse("add", "a new rule has an id", "leave it out");
  CLOCHE_TRY(reader.Finish());
  return change;
}

}  // namespace cloche
