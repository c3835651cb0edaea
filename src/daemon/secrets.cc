#include "daemon/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/text.h"
#include "egress/host_name.h"
#include "egress/rule_text.h"
#include "policy/environment.h"

namespace cloche::daemon {
namespace {

// As a rule, so that both are compared in one form.
Result<egress::Rule> RuleOfHost(const std::string& host) {
  auto rule = egress::ParseRule("https://" + host);
  if (!rule || rule->host.empty() || rule->host.starts_with('*') || rule->range ||
      !rule->path_prefix.empty() || rule->first_port != rule->last_port)
    return Fail(
        Code::kInvalid,
        fmt::format("set secret: {} is not a host it could belong to", EscapeForTerminal(host)),
        "give a name such as api.example.com, or api.example.com:8443");
  return rule;
}

int64_t Seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Hosts that mean this machine default to any TCP; make them HTTPS unless they say otherwise.
std::string AsHttps(const std::string& host) {
  const auto rule = egress::ParseRule(host);
  return rule && rule->kind == egress::Kind::kHttps ? host : "https://" + host;
}

std::set<std::string> RedactedIds(const NetworkRequest& network) {
  std::set<std::string> ids;
  for (const RedactedHost& each : network.redacted) ids.insert(each.id);
  return ids;
}

}  // namespace

const SecretGrant* GrantOf(const NetworkRequest& network, const std::string& secret) {
  const auto found = std::ranges::find(network.secrets, secret, &SecretGrant::name);
  return found == network.secrets.end() ? nullptr : &*found;
}

bool HasBeenSent(const NetworkRequest& network, const egress::Rule& rule) {
  return std::ranges::any_of(network.redacted, [&](const RedactedHost& each) {
    return !rule.host.empty() && egress::HostMatches(rule.host, each.host) &&
           rule.first_port <= each.port && each.port <= rule.last_port;
  });
}

bool MayGoTo(const SecretInfo& secret, const egress::Rule& rule) {
  return std::ranges::any_of(secret.hosts, [&](const std::string& host) {
    const auto own = RuleOfHost(host);
    return own && own->host == rule.host && own->first_port == rule.first_port &&
           own->last_port == rule.last_port;
  });
}

// Stores a new secret, or a new value for those who were granted it. Wipes `value`.
Task<Status> Secrets::Keep(SecretInfo info, std::string& value) {
  Status kept = CheckHolders(info.owner, info.name, value);
  if (kept) {
    const auto set = vault_.Set(info, value, IsRedacted(info.owner, info.name));
    if (!set) kept = std::unexpected(set.error());
  }
  Wipe(value);
  if (kept) co_await on_changed(info.owner, info.name);
  co_return kept;
}

Task<Status> Secrets::Set(std::string name, SecretRequest request, Client client) {
  SecretInfo info;
  info.owner = client.peer.uid;
  info.name = name;
  for (const std::string& host : request.hosts) {
    auto rule = RuleOfHost(host);
    if (!rule) {
      Wipe(request.value);
      co_return std::unexpected(rule.error());
    }
    info.hosts.push_back(egress::FormatRule(*rule).substr(sizeof "https://" - 1));
  }
  info.where = std::move(request.where);
  info.variable = request.variable.empty() ? VariableOf(name) : request.variable;
  info.like = request.like.empty() ? std::string(PublicPrefix(request.value)) : request.like;
  co_return co_await Keep(std::move(info), request.value);
}

Task<Status> Secrets::Rotate(std::string name, std::string value, Client client) {
  auto info = vault_.Find(client.peer.uid, name);
  if (info) co_return co_await Keep(std::move(*info), value);
  Wipe(value);
  co_return std::unexpected(info.error());
}

Task<Status> Secrets::Remove(std::string name, Client client) {
  const bool redacted = IsRedacted(client.peer.uid, name);
  const Status removed = vault_.Remove(client.peer.uid, name, redacted);
  if (removed) co_await on_changed(client.peer.uid, name);
  co_return removed;
}

Result<Json> Secrets::ToJson(const Client& client, const std::string& only) {
  CLOCHE_TRY(vault_.Open());
  if (!only.empty()) CLOCHE_TRY(vault_.Find(client.peer.uid, only));
  Json list = Json::array();
  for (const SecretInfo& info : vault_.List(client.peer.uid)) {
    if (!only.empty() && info.name != only) continue;
    Json json = daemon::ToJson(info);
    json["sandboxes"] = Json::array();
    for (const auto& sandbox : table_.List(client)) {
      const SecretGrant* grant = GrantOf(sandbox->terms().request().network, info.name);
      if (grant && grant->id == info.id) json["sandboxes"].push_back(sandbox->id);
    }
    list.push_back(std::move(json));
  }
  return only.empty() ? list : list[0];
}

// Gives new grants a placeholder, and adds the rules that lead to their hosts.
Status Secrets::Grant(NetworkRequest& network, uint32_t owner) {
  const size_t redacted_before = network.redacted.size();
  for (const NetworkRule& rule : network.rules)
    if (!rule.secret.empty() && !GrantOf(network, rule.secret))
      network.secrets.push_back({.name = rule.secret, .variable = "", .id = "", .placeholder = ""});
  for (SecretGrant& grant : network.secrets) {
    if (!grant.id.empty()) continue;
    ASSIGN_OR_RETURN(const SecretInfo info, vault_.Find(owner, grant.name));
    ASSIGN_OR_RETURN(std::string value, vault_.Value(info));
    if (grant.placeholder.empty()) grant.placeholder = NewPlaceholder(info.like, value.size());
    Wipe(value);
    grant.id = info.id;
    if (grant.variable.empty()) grant.variable = info.variable;
    if (std::ranges::find(network.rules, grant.name, &NetworkRule::secret) == network.rules.end())
      for (const std::string& host : info.hosts)
        network.rules.push_back(
            {.id = "", .allow = true, .text = AsHttps(host), .expires = {}, .secret = grant.name});
  }
  for (const NetworkRule& each : network.rules) {
    if (each.secret.empty()) continue;
    ASSIGN_OR_RETURN(egress::Rule rule, egress::ParseRule(each.text));
    const auto info = vault_.Find(owner, each.secret);
    if (!info || info->id != GrantOf(network, each.secret)->id) continue;
    if (rule.kind != egress::Kind::kHttps || !MayGoTo(*info, rule))
      return Fail(Code::kDenied,
                  fmt::format("grant secret {}: it does not belong to {}, but to {}", info->name,
                              EscapeForTerminal(each.text), fmt::join(info->hosts, ", ")),
                  "set it for that host, too: cloche secret set " + info->name + " --host HOST");
    const RedactedHost redacted{.id = info->id, .host = rule.host, .port = rule.first_port};
    if (std::ranges::find(network.redacted, redacted) != network.redacted.end()) continue;
    if (network.redacted.size() == kMostRedactedHosts)
      return Fail(Code::kExhausted,
                  "grant secrets: there were too many hosts in this sandbox's life",
                  "make a new one: cloche new");
    network.redacted.push_back(redacted);
  }
  if (network.redacted.size() > redacted_before)
    CLOCHE_TRY(
        vault_.CheckRedacted("grant secrets", owner, RedactedIds(network), 0,
                             "grant fewer, or shorter ones; all count that it was ever "
                             "granted, and what they were before: cloche new makes another"));
  for (size_t i = 0; i < network.secrets.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (network.secrets[i].variable == network.secrets[j].variable)
        return Fail(Code::kConflict,
                    fmt::format("grant secrets {} and {}: both want to be {} inside",
                                network.secrets[j].name, network.secrets[i].name,
                                network.secrets[i].variable),
                    "choose another: --secret NAME:VARIABLE");
  return {};
}

// Sandboxes that hold it must be able to redact this value, too, besides the previous one.
Status Secrets::CheckHolders(uint32_t owner, const std::string& name,
                             const std::string& value) const {
  CLOCHE_TRY(CheckSecretValue(value));
  const auto info = vault_.Find(owner, name);
  if (!info) return {};
  ASSIGN_OR_RETURN(std::string before, vault_.Value(*info));
  const bool same = before == value;
  Wipe(before);
  for (const auto& [id, sandbox] : table_.all()) {
    const std::set<std::string> ids = RedactedIds(sandbox->terms().request().network);
    if (same || !ids.contains(info->id)) continue;
    CLOCHE_TRY(
        vault_.CheckRedacted(fmt::format("set secret {} of {}", name, id), owner, ids, value.size(),
                             "remove the sandbox: cloche rm " + id + "; or give a shorter value"));
  }
  return {};
}

Status Secrets::CheckCanRedact(const Sandbox& sandbox) {
  if (sandbox.terms().request().network.redacted.empty()) return {};
  CLOCHE_TRY(vault_.Open());
  return vault_.CheckRedacted("open the network of " + sandbox.id, sandbox.owner,
                              RedactedIds(sandbox.terms().request().network), 0,
                              "remove the sandbox: cloche rm " + sandbox.id);
}

// For cloche-egress. An empty value: the secret is gone, and requests that need it are refused.
SecretValues Secrets::ValuesFor(const Sandbox& sandbox) const {
  SecretValues values;
  for (const SecretGrant& grant : sandbox.terms().request().network.secrets) {
    const auto info = vault_.Find(sandbox.owner, grant.name);
    Result<std::string> value = "";
    if (info && info->id == grant.id) value = vault_.Value(*info);
    values.emplace_back(grant.name, value ? std::move(*value) : "");
  }
  return values;
}

// The values that this sandbox's requests have carried, or could have, and to which hosts.
std::vector<RedactedValue> Secrets::RedactedFor(const Sandbox& sandbox) const {
  std::map<std::string, Json> hosts;
  for (const RedactedHost& each : sandbox.terms().request().network.redacted)
    hosts[each.id].push_back(Json::array({each.host, each.port}));
  std::vector<RedactedValue> redacted;
  for (const auto& [id, list] : hosts)
    for (std::string& value : vault_.Values(sandbox.owner, id))
      redacted.push_back({std::move(value), list});
  return redacted;
}

bool Secrets::IsRedacted(uint32_t owner, const std::string& name) const {
  const auto info = vault_.Find(owner, name);
  return info && std::ranges::any_of(table_.all(), [&](const auto& each) {
           return std::ranges::find(each.second->terms().request().network.redacted, info->id,
                                    &RedactedHost::id) !=
                  each.second->terms().request().network.redacted.end();
         });
}

// Old values go with the last sandbox that used them.
void Secrets::ForgetOldValues() {
  std::set<std::string> ids;
  for (const auto& [id, sandbox] : table_.all()) {
    if (sandbox->state() == Sandbox::State::kUnreadable) return;  // unknown which it has used
    for (const RedactedHost& each : sandbox->terms().request().network.redacted)
      ids.insert(each.id);
  }
  (void)vault_.KeepOldOf(ids);
}

void Secrets::CountUses(uint32_t owner, const Json& event) {
  const auto secrets = event.find("secrets");
  if (secrets == event.end() || !secrets->is_object() || event.value("state", Json()) != "end")
    return;
  for (const auto& [name, uses] : secrets->items())
    if (uses.is_number_unsigned()) vault_.CountUses(owner, name, uses.get<uint64_t>(), Seconds());
}

// Sets the placeholders that commands inside get instead; they override other variables of that
// name.
void AddSecretVariables(const Sandbox& sandbox, std::vector<std::string>& env) {
  for (const SecretGrant& grant : sandbox.terms().request().network.secrets) {
    const std::string begin = grant.variable + "=";
    std::erase_if(env, [&](const std::string& each) { return each.starts_with(begin); });
    env.push_back(begin + grant.placeholder);
  }
}

}  // namespace cloche::daemon
