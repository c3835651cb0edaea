#include "daemon/network_grants.h"

#include <errno.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <string.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <chrono>

#include "base/text.h"
#include "daemon/ask_inside.h"
#include "daemon/production_hosts.h"
#include "daemon/text_of.h"
#include "daemon/turn.h"
#include "egress/rule_text.h"
#include "sys/refusals.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostTold = 5;  // refusals reported per sandbox
constexpr size_t kMostRuleBytes = 48 << 10;
constexpr const char* kSocketNames[] = {"tcp4", "dns4", "proxy4", "tcp6", "dns6"};
constexpr size_t kProxySocket = 2;

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool IsExpired(const NetworkRule& rule, double now) { return rule.expires && *rule.expires <= now; }

Result<egress::Rule> CompileRule(const NetworkRule& written) {
  ASSIGN_OR_RETURN(egress::Rule rule, egress::ParseRule(written.text));
  rule.id = written.id;
  rule.allow = written.allow;
  if (written.expires) rule.expires = static_cast<int64_t>(*written.expires);
  return rule;
}

uint16_t PortOf(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0
             ? ntohs(address.sin_port)
             : 0;
}

// The rule a user would write to grant it.
std::string RuleFor(const Json& record) {
  const std::string kind = TextOf(record, "kind"), destination = DestinationOf(record);
  if (kind == "dns") return TextOf(record, "name") + ":443";
  const bool prefixed = kind == "http" || kind == "tcp" || kind == "ssh";
  return prefixed ? kind + "://" + destination : destination;
}

// The reader may be able to grant it in another way than cloche-egress knows.
std::string GrantWith(const Sandbox& sandbox, const std::string& rule) {
  const std::string text = EscapeForTerminal(rule);
  return "grant it with: " + (sandbox.terms().keep()
                                  ? fmt::format("cloche net {} allow {}", sandbox.id, text)
                                  : "--allow " + text);
}

std::string Blocked(const Sandbox& sandbox, const Json& record) {
  std::string reason = TextOf(record, "reason");
  if (reason.empty()) reason = DestinationOf(record) + " is not granted";
  // The rule may depend on more than the record says: an address, a service.
  const std::string known = fmt::format("; grant it with: cloche net {} allow ", sandbox.id);
  std::string rule = RuleFor(record);
  if (const size_t at = reason.find(known); at != std::string::npos) {
    if (TextOf(record, "kind") == "dns" || reason.find(" which no rule grants") < at)
      rule = reason.substr(at + known.size());
    reason.erase(at);
    return fmt::format("blocked: {}; {}", EscapeForTerminal(reason), GrantWith(sandbox, rule));
  }
  constexpr std::string_view kNotGranted = " is not granted";
  const size_t said = reason.find(kNotGranted);
  if (said == std::string::npos)
    return fmt::format("blocked: {}{}", EscapeForTerminal(reason),
                       SeeAlso(sandbox.terms(), sandbox.id, "net", "log"));
  reason.erase(said + kNotGranted.size());
  return fmt::format("blocked: {} to {}; {}", EscapeForTerminal(reason), sandbox.id,
                     GrantWith(sandbox, rule));
}

}  // namespace

Result<Json> NetworkGrants::Compile(const NetworkRequest& network, uint32_t owner) const {
  Json list = Json::array();
  if (network.rules.empty()) return list;
  const double now = Now();
  ASSIGN_OR_RETURN(const ProductionHosts production, ProductionHosts::Read(machine_.mode()));
  for (const NetworkRule& each : network.rules) {
    ASSIGN_OR_RETURN(egress::Rule rule, CompileRule(each));
    CLOCHE_TRY(production.Check(rule));
    if (!each.secret.empty()) {
      const SecretGrant* grant = GrantOf(network, each.secret);
      if (!grant)
        return Fail(Code::kInvalid, "read rules: one carries a secret that is not granted",
                    "grant it: --secret NAME");
      rule.secret = egress::SecretUse{.name = grant->name, .placeholder = grant->placeholder};
      // A secret that is gone has no value, so requests under this rule are refused.
      const auto info = secrets_.Find(owner, each.secret);
      if (info && info->id == grant->id) {
        if (!MayGoTo(*info, rule)) continue;
        for (const std::string& where : info->where) {
          rule.secret->header |= where == "header";
          rule.secret->basic |= where == "basic";
          rule.secret->query |= where == "query";
          rule.secret->json |= where == "json";
        }
      }
      CLOCHE_TRY(egress::CheckRule(rule));
    }
    if (!IsExpired(each, now)) list.push_back(egress::ToJson(rule));
  }
  for (const egress::Rule& each : production.denials()) list.push_back(egress::ToJson(each));
  if (list.dump().size() > kMostRuleBytes)
    return Fail(Code::kInvalid, "read rules: they are too long together", "give fewer");
  return list;
}

NetworkGrants::NetworkGrants(asio::io_context& io, Machine& machine, SandboxTable& table,
                             Spawn& spawn, Secrets& secrets)
    : io_(io),
      machine_(machine),
      table_(table),
      spawn_(spawn),
      secrets_(secrets),
      authorities_(machine, spawn),
      egress_(io, machine.mode(), spawn, machine.state_directory() + "/daemon/egress.log") {
  egress_.on_death = [this](const std::string& why) { TellOfDeath(why); };
}

void NetworkGrants::TellOfDeath(const std::string& why) {
  for (const auto& [id, sandbox] : table_.all()) {
    if (!sandbox->border().is_open()) continue;
    sandbox->border().network()->CutAll(why);
    sandbox->commands().Tell(
        {{"kind", "network"},
         {"message", why + ": its connections were cut; it is started again"}});
  }
}

// Too late to ask init whose connection it was.
void NetworkGrants::TellRefusals(Sandbox& sandbox) {
  SandboxNetwork& network = *sandbox.border().network();
  network.may_ask = false;
  egress_.Drain();
  TakeRefusals(sandbox, network);
  network.may_ask = true;
}

void NetworkGrants::TakeEvent(Sandbox& sandbox, SandboxNetwork& network, const Json& event) {
  Json record;
  const bool denied = network.Take(event, record);
  const auto tell = [&](const std::string& message) {
    sandbox.commands().Tell({{"kind", "network"}, {"message", message}});
  };
  if (record.contains("unasked") && network.told.insert("unasked").second)
    tell(EscapeForTerminal(TextOf(record, "reason")) +
         SeeAlso(sandbox.terms(), sandbox.id, "net", "log"));
  if (!denied) return;
  if (const std::string canary = TextOf(record, "canary"); !canary.empty())
    return sandbox.RecordCanary(canary, TextOf(record, "form"), DestinationOf(record));
  const std::string destination = DestinationOf(record);
  if (network.told.size() > kMostTold || !network.told.insert(destination).second) return;
  const std::string message =
      network.told.size() > kMostTold
          ? "more was blocked" + SeeAlso(sandbox.terms(), sandbox.id, "net", "log")
          : Blocked(sandbox, record);
  tell(message);
}

// Refusals by the kernel itself: everything except TCP and DNS.
void NetworkGrants::TakeRefusals(Sandbox& sandbox, SandboxNetwork& network) {
  if (!network.refusals.is_open()) return;
  for (const sys::Refusal& each : sys::ReadRefusals(network.refusals.native_handle())) {
    const std::string protocol = sys::ProtocolName(each.protocol);
    Json event = {{"time", Now()},
                  {"kind", protocol == "ICMP"  ? "icmp"
                           : protocol == "UDP" ? "udp"
                                               : "other"},
                  {"address", each.address},
                  {"decision", "deny"},
                  {"state", "end"}};
    if (each.port != 0) event["port"] = each.port;
    if (each.source_port != 0) event["source_port"] = each.source_port;
    event["reason"] =
        fmt::format("{} to {}: only TCP and names pass", protocol, DestinationOf(event));
    TakeEvent(sandbox, network, event);
  }
}

Task<void> NetworkGrants::WatchRefusals(std::weak_ptr<Sandbox> weak,
                                        std::shared_ptr<SandboxNetwork> network) {
  while (network->refusals.is_open()) {
    auto [error] =
        co_await network->refusals.async_wait(asio::posix::stream_descriptor::wait_read, kAwait);
    const auto sandbox = weak.lock();
    if (error || !sandbox || !network->refusals.is_open()) co_return;
    TakeRefusals(*sandbox, *network);
  }
}

Border NetworkGrants::MakeBorder(const std::shared_ptr<Sandbox>& sandbox) {
  const std::shared_ptr<SandboxNetwork> network = sandbox->border().MakeNetwork();
  Border border;
  border.name = sandbox->terms().name();
  border.limits = sandbox->terms().request().network.limits;
  for (const Decoy& each : sandbox->terms().request().canaries.decoys)
    border.canaries.push_back({{"name", each.kind}, {"value", MarkOf(each)}});
  border.secrets = [this, weak = std::weak_ptr(sandbox)] {
    const auto alive = weak.lock();
    return alive ? secrets_.ValuesFor(*alive) : SecretValues();
  };
  border.redacted = [this, weak = std::weak_ptr(sandbox)] {
    const auto alive = weak.lock();
    return alive ? secrets_.RedactedFor(*alive) : std::vector<RedactedValue>();
  };
  border.on_connection = [this, network, owner = sandbox->owner,
                          weak = std::weak_ptr(sandbox)](const Json& event) {
    Json record;
    secrets_.CountUses(owner, event);
    if (const auto alive = weak.lock())
      TakeEvent(*alive, *network, event);
    else
      (void)network->Take(event, record);
  };
  border.on_over = [network] {
    if (network->proxy_port == 0) network->CutAll("its sandbox was stopped");
  };
  return border;
}

// Asks init which process opened a connection.
void NetworkGrants::ServeOwners(const std::shared_ptr<Sandbox>& sandbox) {
  const std::shared_ptr<SandboxNetwork> network = sandbox->border().MakeNetwork();
  network->told.clear();
  network->on_named = [this, id = sandbox->id](uint64_t connection) {
    egress_.NameOwner(id, connection);
  };
  network->ask_owner = [weak = std::weak_ptr(sandbox)](uint16_t port) {
    const auto alive = weak.lock();
    return alive && alive->init().AskOwner(port);
  };
}

Task<Status> NetworkGrants::Open(std::shared_ptr<Sandbox> sandbox, Client client) {
  auto rules = Compile(sandbox->terms().request().network, sandbox->owner);
  if (!rules) co_return std::unexpected(rules.error());
  CLOCHE_CO_TRY(secrets_.CheckCanRedact(*sandbox));
  const uint64_t life = sandbox->life();
  sandbox->border().MakeNetwork()->believes.clear();
  auto answer = co_await AskInside(spawn_, machine_.mode(), sandbox,
                                   RequestOf(sandbox->id, ask::Network()), client);
  if (!answer) co_return std::unexpected(answer.error());
  if (answer->reply.value != 0) co_return std::unexpected(machine_.Explain(*answer));
  if (answer->fds.size() < 3 || answer->fds.size() > 6)
    co_return Fail(Code::kInternal, "open the network: cloche-spawn sent no sockets");
  sys::Fd refusals;
  if (answer->fds.size() % 2 == 0) {
    refusals = std::move(answer->fds.back());
    answer->fds.pop_back();
  }
  const std::shared_ptr<SandboxNetwork> network = sandbox->border().MakeNetwork();
  Border border = MakeBorder(sandbox);
  // Once a secret has been granted, answers are inspected even if no rule requires it any more.
  if (NeedsAuthority(*rules) || !sandbox->terms().request().network.redacted.empty()) {
    auto prepared = co_await authorities_.Prepare(sandbox, client);
    if (!prepared) co_return std::unexpected(prepared.error());
    border.authority = std::move(*prepared);
  }
  const uint16_t proxy_port = PortOf(answer->fds[kProxySocket].get());
  for (size_t i = 0; i < answer->fds.size(); ++i) border.socket_names.push_back(kSocketNames[i]);
  border.sockets = std::move(answer->fds);
  ServeOwners(sandbox);
  // Secrets, and with them their hosts, may have changed meanwhile.
  auto latest = Compile(sandbox->terms().request().network, sandbox->owner);
  if (!latest) co_return std::unexpected(latest.error());
  border.rules = std::move(*latest);
  CLOCHE_CO_TRY(co_await egress_.Open(sandbox->id, std::move(border)));
  if (!sandbox->runs() || sandbox->life() != life) {
    egress_.Close(sandbox->id);
    co_return Fail(Code::kConflict, "open the network of " + sandbox->id + ": it was stopped",
                   "start it again");
  }
  network->proxy_port = proxy_port;
  if (refusals.valid()) {
    sys::SetNonBlocking(refusals.get());
    boost::system::error_code ignored;
    (void)network->refusals.close(ignored);
    network->refusals.assign(refusals.Release());
    asio::co_spawn(io_, WatchRefusals(sandbox, network), kDetached);
  }
  co_return Status{};
}

void NetworkGrants::Close(Sandbox& sandbox) {
  const std::shared_ptr<SandboxNetwork>& network = sandbox.border().network();
  if (!network) return;
  if (network->proxy_port != 0) egress_.Close(sandbox.id);
  network->proxy_port = 0;
  network->believes.clear();
  network->ask_owner = nullptr;
  boost::system::error_code ignored;
  (void)network->refusals.close(ignored);
  network->Flush();
}

// The grants of the sandbox after the change.
Result<NetworkRequest> NetworkGrants::Changed(const Sandbox& sandbox, NetworkChange change) {
  NetworkRequest wanted = sandbox.terms().request().network;
  const double now = Now();
  std::erase_if(wanted.rules, [&](const NetworkRule& rule) { return IsExpired(rule, now); });
  for (const std::string& gone : change.remove)
    if (std::erase_if(wanted.rules, [&](const NetworkRule& rule) {
          return rule.id == gone || rule.text == gone;
        }) == 0)
      return Fail(Code::kNotFound,
                  fmt::format("forget rule: {} has no {}", sandbox.id, EscapeForTerminal(gone)),
                  "cloche net " + sandbox.id + " show");
  std::erase_if(wanted.secrets, [&](const SecretGrant& grant) {
    return std::ranges::find(wanted.rules, grant.name, &NetworkRule::secret) == wanted.rules.end();
  });
  for (NetworkRule& each : change.add) {
    // The same rule again only gets a new expiry.
    std::erase_if(wanted.rules, [&](const NetworkRule& rule) {
      return rule.text == each.text && rule.allow == each.allow && rule.secret == each.secret;
    });
    if (!each.secret.empty() &&
        std::ranges::find(change.secrets, each.secret, &SecretGrant::name) == change.secrets.end())
      change.secrets.push_back({.name = each.secret, .variable = "", .id = "", .placeholder = ""});
    wanted.rules.push_back(std::move(each));
  }
  for (SecretGrant& each : change.secrets) {
    const auto held = std::ranges::find(wanted.secrets, each.name, &SecretGrant::name);
    if (held == wanted.secrets.end()) {
      wanted.secrets.push_back(std::move(each));
      continue;
    }
    held->id.clear();  // granted anew: it may be another secret by now
    if (!each.variable.empty()) held->variable = each.variable;
  }
  CLOCHE_TRY(secrets_.Grant(wanted, sandbox.owner));
  if (wanted.rules.size() > kMostNetworkRules)
    return Fail(Code::kInvalid,
                fmt::format("change rules: more than {} are too many", kMostNetworkRules),
                "forget some: cloche net " + sandbox.id + " forget ID");
  NumberRules(wanted);
  return wanted;
}

Task<Status> NetworkGrants::Change(std::shared_ptr<Sandbox> sandbox, NetworkChange change,
                                   Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  if (!sandbox->has_files())
    co_return Fail(Code::kConflict, "change the network of " + sandbox->id + ": it has ended",
                   "make a new sandbox: cloche new");
  auto wanted = Changed(*sandbox, std::move(change));
  if (!wanted) co_return std::unexpected(wanted.error());
  auto rules = Compile(*wanted, sandbox->owner);
  if (!rules) co_return std::unexpected(rules.error());
  NetworkRequest before = sandbox->terms().SetNetwork(std::move(*wanted));
  // First of all: whatever may have been sent is redacted for the life of the sandbox, whichever
  // process dies meanwhile.
  if (Status saved = table_.Save(*sandbox); !saved) {
    sandbox->terms().SetNetwork(std::move(before));
    co_return saved;
  }
  const bool open = sandbox->border().is_open();
  Status done;
  if (open && NeedsAuthority(*rules) && sandbox->border().network()->believes.empty())
    done = co_await GiveAuthority(sandbox, client);
  if (open && done) {
    egress_.SendSecrets(sandbox->id);
    Json latest = Json::array();
    if (auto compiled = Compile(sandbox->terms().request().network, sandbox->owner))
      latest = std::move(*compiled);
    co_await egress_.SetRules(sandbox->id, std::move(latest));
  }
  if (!open && sandbox->runs() && !rules->empty()) done = co_await Open(sandbox, client);
  if (!done) {
    before.redacted = sandbox->terms().request().network.redacted;
    sandbox->terms().SetNetwork(std::move(before));
    egress_.SendSecrets(sandbox->id);
    (void)table_.Save(*sandbox);
    co_return done;
  }
  if (sandbox->border().network()) sandbox->border().network()->told.clear();
  co_return Status();
}

Json NetworkGrants::ToJson(Sandbox& sandbox) {
  const double now = Now();
  const bool open = sandbox.border().is_open();
  Json rules = Json::array();
  for (const NetworkRule& each : sandbox.terms().request().network.rules) {
    Json rule = {{"id", each.id}, {"action", each.allow ? "allow" : "deny"}, {"rule", each.text}};
    if (const auto compiled = CompileRule(each)) {
      rule["kind"] = egress::KindName(compiled->kind);
      if (compiled->kind == egress::Kind::kHttps)
        rule["tls"] = compiled->LooksIntoRequests() || !each.secret.empty() ||
                              HasBeenSent(sandbox.terms().request().network, *compiled)
                          ? "ended"
                          : "passed";
    }
    if (each.expires) {
      rule["expires"] = *each.expires;
      rule["expires_in_s"] = std::max(0.0, *each.expires - now);
    }
    if (IsExpired(each, now)) rule["expired"] = true;
    if (!each.secret.empty()) rule["secret"] = each.secret;
    rules.push_back(std::move(rule));
  }
  const char* state = open && egress_.IsOpen(sandbox.id)                ? "open"
                      : open                                            ? "cut"
                      : sandbox.terms().request().network.rules.empty() ? "none"
                      : sandbox.runs()                                  ? "none"
                                                                        : "stopped";
  const NetworkLog::Totals totals = sandbox.border().MakeNetwork()->log.totals();
  Json json = {{"id", sandbox.id},
               {"state", state},
               {"rules", rules},
               {"limits", sandbox.terms().request().network.limits},
               {"connections", sandbox.border().network()->Connections()},
               {"totals",
                {{"records", totals.records},
                 {"allowed", totals.allowed},
                 {"denied", totals.denied},
                 {"bytes_up", totals.bytes_up},
                 {"bytes_down", totals.bytes_down},
                 {"dropped", totals.dropped}}},
               {"egress", egress_.Describe()}};
  for (const SecretGrant& grant : sandbox.terms().request().network.secrets) {
    const auto info = secrets_.Find(sandbox.owner, grant.name);
    const bool there = info && info->id == grant.id;
    json["secrets"].push_back({{"name", grant.name},
                               {"variable", grant.variable},
                               {"state", there ? "granted" : "removed"}});
  }
  if (open && !sandbox.border().network()->believes.empty())
    json["authority"] = {{"sha256", sandbox.border().network()->believes},
                         {"expires", sandbox.border().network()->authority->ends}};
  if (open) json["proxy"] = fmt::format("127.0.0.1:{}", sandbox.border().network()->proxy_port);
  return json;
}

Task<Result<sys::Fd>> NetworkGrants::ConnectInto(std::shared_ptr<Sandbox> sandbox, uint16_t port,
                                                 Client client) {
  if (!sandbox->runs())
    co_return Fail(Code::kConflict,
                   fmt::format("connect to port {} of {}: it does not run", port, sandbox->id),
                   "start something in it: cloche exec");
  const SpawnRequest request = RequestOf(sandbox->id, ask::Connect(port));
  auto answer = co_await AskInside(spawn_, machine_.mode(), sandbox, request, client);
  if (!answer) co_return std::unexpected(answer.error());
  if (answer->reply.value != 0 && strcmp(answer->reply.operation, "connect") != 0)
    co_return std::unexpected(machine_.Explain(*answer));
  if (answer->reply.value != 0 || answer->fds.size() != 1)
    co_return Fail(Code::kUnavailable,
                   fmt::format("connect to port {} of {}: {}", port, sandbox->id,
                               strerror(answer->reply.value)),
                   "is something listening there, on 127.0.0.1, ::1 or any address?");
  co_return std::move(answer->fds[0]);
}

void AddNetworkVariables(const Sandbox& sandbox, std::vector<std::string>& env) {
  if (sandbox.border().signer()) {
    std::erase_if(env, [](const std::string& each) { return each.starts_with("SSH_AUTH_SOCK="); });
    env.push_back(fmt::format("SSH_AUTH_SOCK={}", kSignSocket));
  }
  if (!sandbox.border().is_open()) return;
  const std::string at = fmt::format("127.0.0.1:{}", sandbox.border().network()->proxy_port);
  env.push_back("CLOCHE_PROXY=http://" + at);
  if (!sandbox.terms().request().network.proxy_env) return;
  for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
    env.push_back(fmt::format("{}=http://{}", name, at));
  for (const char* name : {"all_proxy", "ALL_PROXY"})
    env.push_back(fmt::format("{}=socks5h://{}", name, at));
  for (const char* name : {"no_proxy", "NO_PROXY"})
    env.push_back(fmt::format("{}=localhost,127.0.0.1,::1", name));
}

Task<Status> NetworkGrants::GiveAuthority(std::shared_ptr<Sandbox> sandbox, Client client) {
  auto prepared = co_await authorities_.Prepare(sandbox, client);
  if (!prepared) co_return std::unexpected(prepared.error());
  egress_.SetAuthority(sandbox->id, std::move(*prepared));
  co_return Status{};
}

Task<Status> NetworkGrants::RenewAuthority(std::shared_ptr<Sandbox> sandbox, Client client) {
  if (!CaStore::IsToBeRenewed(*sandbox)) co_return Status{};
  co_return co_await GiveAuthority(sandbox, client);
}

// Informs the holders at once. A removed secret is withdrawn from all of them first; a new value is
// sent only once the rules no longer lead to hosts it is not for. Rules that cannot be compiled
// grant nothing.
Task<void> NetworkGrants::SecretChanged(uint32_t owner, std::string name) {
  std::vector<std::shared_ptr<Sandbox>> holders;
  for (const auto& [id, sandbox] : table_.all())
    if (sandbox->owner == owner && GrantOf(sandbox->terms().request().network, name) &&
        sandbox->border().network())
      holders.push_back(sandbox);
  if (!secrets_.Find(owner, name))
    for (const auto& sandbox : holders) egress_.SendSecrets(sandbox->id);
  for (const auto& sandbox : holders) {
    Json rules = Json::array();
    if (auto compiled = Compile(sandbox->terms().request().network, sandbox->owner))
      rules = std::move(*compiled);
    co_await egress_.SetRules(sandbox->id, std::move(rules));
    egress_.SendSecrets(sandbox->id);
  }
}

}  // namespace cloche::daemon
