#include "egress/server.h"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "egress/certificates.h"
#include "egress/decide.h"
#include "egress/dns_server.h"
#include "egress/serve.h"
#include "sys/inet.h"
#include "sys/message.h"
#include "sys/stream.h"

namespace cloche::egress {
namespace {

constexpr int kAcceptAtOnce = 64;
constexpr int64_t kBreatheMs = 100;
constexpr int kMostSockets = 16;
constexpr uint64_t kMostOfOne = 1024;  // connections of a sandbox

}  // namespace

Server::Server(Loop& loop, sys::Fd control, uint64_t most_connections)
    : loop_(loop),
      control_(loop, std::move(control)),
      reports_(control_),
      resolver_(loop),
      services_{loop_, reports_, resolver_, buffers_, host_cas_},
      most_connections_(most_connections) {}

void Server::Begin() {
  loop_.EverySecond([this] { CheckExpiries(); });
  Start(reports_.Run());
  Start(ReadControl());
  reports_.Send(nlohmann::ordered_json{{"event", "ready"}});
}

Task<void> Server::ReadControl() {
  std::string buffer(kMostControlMessage, '\0');
  while (true) {
    int fds[kMostSockets];
    int count = 0;
    const long got =
        sys::ReceiveMessage(control_.fd(), buffer.data(), buffer.size(), fds, count, true);
    if (got == -EAGAIN) {
      co_await control_.Readable(INT64_MAX);
      continue;
    }
    if (got == -EMSGSIZE) {
      Complain("", "control: a message is too long");
      continue;
    }
    if (got <= 0) break;  // the daemon is gone, and so is all we are for
    std::vector<sys::Fd> owned;
    for (int i = 0; i < count; ++i) owned.emplace_back(fds[i]);
    Handle(std::string_view(buffer).substr(0, static_cast<size_t>(got)), std::move(owned));
    explicit_bzero(buffer.data(), static_cast<size_t>(got));  // it may have been a secret
  }
  loop_.Stop();
}

void Server::Complain(const std::string& sandbox, const std::string& message) {
  nlohmann::ordered_json event{{"event", "error"}, {"message", message}};
  if (!sandbox.empty()) event["sandbox"] = sandbox;
  reports_.Send(event);
}

void Server::Handle(std::string_view text, std::vector<sys::Fd> fds) {
  std::string sandbox;
  auto message = ParseControlMessage(text, sandbox);
  if (!message) {
    // An invalid message grants nothing, and revokes what earlier messages granted.
    if (const auto found = sandboxes_.find(sandbox); found != sandboxes_.end())
      SetRules(*found->second, {});
    Complain(sandbox, message.error().message);
    return;
  }
  if (auto* open = std::get_if<OpenMessage>(&*message)) Do(std::move(*open), std::move(fds));
  if (auto* rules = std::get_if<RulesMessage>(&*message)) Do(std::move(*rules));
  if (auto* limits = std::get_if<LimitsMessage>(&*message)) Do(*limits);
  if (auto* owner = std::get_if<OwnerMessage>(&*message)) Do(*owner);
  if (auto* close = std::get_if<CloseMessage>(&*message)) Do(*close);
  if (auto* resolver = std::get_if<ResolverMessage>(&*message))
    resolver_.Configure(std::move(*resolver));
  if (auto* secret = std::get_if<SecretMessage>(&*message)) Do(std::move(*secret));
  if (auto* redaction = std::get_if<RedactMessage>(&*message)) Do(std::move(*redaction));
  if (auto* trust = std::get_if<HostCaMessage>(&*message))
    host_cas_.Add(trust->certificates, trust->first, trust->more);
  if (auto* authority = std::get_if<AuthorityMessage>(&*message)) Do(*authority);
}

void Server::Do(SecretMessage message) {
  const auto found = sandboxes_.find(message.sandbox);
  const bool open = found != sandboxes_.end();
  SecretStore& secrets = open ? found->second->secrets : early_secrets_[message.sandbox];
  const bool changed = secrets.Set(message.name, message.value);
  Wipe(message.value);
  if (!open || !changed) return;
  // Requests that are under way have the old value in them, or answers that are not redacted for
  // the new one.
  for (Connection* connection : found->second->live) {
    const auto held = SecretsAt(found->second->rules, connection->target, loop_.Seconds());
    if (!connection->asked.empty() && held.contains(message.name))
      connection->Cut(fmt::format("secret {} has changed", message.name));
  }
}

void Server::Do(RedactMessage message) {
  const auto found = sandboxes_.find(message.sandbox);
  const bool open = found != sandboxes_.end();
  SecretStore& secrets = open ? found->second->secrets : early_secrets_[message.sandbox];
  secrets.Remember(message.value);
  Wipe(message.value);
  for (const auto& [host, port] : message.hosts)
    secrets.Mark({.host = host, .first_port = port, .last_port = port});
  if (open) CutWhatIsNotGranted(*found->second);
}

// New connections meet it. Those that are open were promised another one, or none.
void Server::Do(const AuthorityMessage& message) {
  const auto found = sandboxes_.find(message.sandbox);
  if (found == sandboxes_.end()) return Complain(message.sandbox, "authority: no such sandbox");
  auto certificates = Certificates::Make(message.ca);
  if (!certificates) return Complain(message.sandbox, certificates.error().message);
  found->second->certificates = std::move(*certificates);
}

void Server::Do(OpenMessage message, std::vector<sys::Fd> fds) {
  if (fds.size() != message.sockets.size())
    return Complain(message.sandbox, "open: want a descriptor for each socket");
  auto sandbox = std::make_shared<Sandbox>();
  if (const auto open = sandboxes_.find(message.sandbox); open != sandboxes_.end()) {
    sandbox->secrets = std::exchange(open->second->secrets, {});  // they came for this one
    Do(CloseMessage{message.sandbox});
  } else if (auto early = early_secrets_.extract(message.sandbox)) {
    sandbox->secrets = std::move(early.mapped());
  }
  if (message.ca) {
    auto certificates = Certificates::Make(*message.ca);
    if (!certificates) return Complain(message.sandbox, certificates.error().message);
    sandbox->certificates = std::move(*certificates);
  }
  if (!message.canaries.empty()) {
    auto canaries = CanarySet::Make(message.canaries);
    if (!canaries) return Complain(message.sandbox, canaries.error().message);
    sandbox->canaries = std::move(*canaries);
  }
  sandbox->id = message.sandbox;
  sandbox->group = loop_.NewGroup();
  sandbox->name = message.name;
  sandbox->names = SyntheticNames(sandbox->id);
  sandbox->limits = message.limits;
  sandbox->owners.wanted = message.owners;
  SetRules(*sandbox, std::move(message.rules));
  sandbox->has_six = std::find(message.sockets.begin(), message.sockets.end(), SocketUse::kTcp6) !=
                     message.sockets.end();
  sandboxes_[sandbox->id] = sandbox;
  for (size_t i = 0; i < fds.size(); ++i) Serve(sandbox, message.sockets[i], std::move(fds[i]));
  reports_.Send(nlohmann::ordered_json{{"event", "opened"}, {"sandbox", sandbox->id}});
}

void Server::Serve(const std::shared_ptr<Sandbox>& sandbox, SocketUse use, sys::Fd fd) {
  sys::SetNonBlocking(fd.get());
  const Loop::As as(loop_, sandbox->group);
  auto socket = std::make_shared<Socket>(loop_, std::move(fd));
  if (!socket->valid()) return Complain(sandbox->id, "open: a socket cannot be watched");
  sandbox->listeners.push_back(socket);
  if (use == SocketUse::kDns4 || use == SocketUse::kDns6) {
    Start(ServeDatagrams(services_, sandbox, socket));
  } else {
    Start(Accept(sandbox, socket, use));
  }
}

Task<void> Server::Accept(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<Socket> listener,
                          SocketUse use) {
  Yield yield{loop_};
  for (int accepted = 1;; ++accepted) {
    // Here, so that refused connections yield too.
    if (accepted % kAcceptAtOnce == 0) co_await yield;
    if (listener->cut()) co_return;
    sys::Fd client;
    sys::Endpoint from;
    const int error = sys::AcceptConnection(listener->fd(), client, from);
    if (error == -EAGAIN) {
      const Wake wake = co_await listener->Readable(INT64_MAX);
      if (wake == Wake::kCut) co_return;
      continue;
    }
    if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS) {
      const Wake wake = co_await listener->Readable(loop_.now() + kBreatheMs);
      if (wake == Wake::kCut) co_return;
      continue;
    }
    if (error < 0) continue;  // it is gone already
    uint64_t live = 0;
    for (const auto& [id, each] : sandboxes_) live += each->live.size();
    // Without a limit it gets a share: one sandbox must not take what all have.
    const uint64_t most = sandbox->limits.connections == 0
                              ? std::min<uint64_t>(kMostOfOne, most_connections_ / 3)
                              : sandbox->limits.connections + 64;
    // Those that have not said yet where they want to go; the limit itself is for those that have.
    const bool too_many = live >= most_connections_ || sandbox->live.size() >= most;
    if (too_many && std::exchange(sandbox->told_too_many, loop_.Seconds()) == loop_.Seconds()) {
      sys::ResetOnClose(client.get());
      continue;
    }
    auto connection =
        std::make_unique<Connection>(services_, sandbox, std::move(client), from.port);
    if (!connection->client.valid()) continue;
    if (too_many) {
      connection->client.ResetOnClose();
      connection->Deny(fmt::format("{} has {} connections at once, its share", sandbox->id, most));
      continue;
    }
    if (use == SocketUse::kProxy4) {
      Start(ServeProxy(std::move(connection)));
    } else {
      Start(ServeRedirected(std::move(connection), use == SocketUse::kTcp6));
    }
  }
}

void Server::SetRules(Sandbox& sandbox, std::vector<Rule> rules) {
  // Answers that are on their way are not redacted for a secret that comes now.
  for (Connection* connection : sandbox.live) {
    if (connection->asked.empty()) continue;
    const auto before = SecretsAt(sandbox.rules, connection->target, loop_.Seconds());
    const auto after = SecretsAt(rules, connection->target, loop_.Seconds());
    if (!std::ranges::includes(before, after)) connection->Cut("a secret was granted to this host");
  }
  sandbox.rules = std::move(rules);
  for (const Rule& rule : sandbox.rules) {
    if (rule.secret) sandbox.secrets.Mark(rule);
  }
  sandbox.next_expiry = NextExpiry(sandbox.rules, loop_.Seconds());
  CutWhatIsNotGranted(sandbox);
  // A program may still know the address that our predecessor told it.
  for (const Rule& rule : sandbox.rules) {
    if (rule.allow && !rule.host.empty() && !rule.host.starts_with('*'))
      (void)sandbox.names.AddressOf(rule.host, false);
  }
}

void Server::CutWhatIsNotGranted(Sandbox& sandbox) {
  for (Connection* connection : sandbox.live) {
    if (connection->target.port == 0) continue;  // it has not said yet where it wants to go
    if (!connection->StillGranted()) connection->Cut("it is not granted any more");
  }
}

void Server::Do(RulesMessage message) {
  const auto found = sandboxes_.find(message.sandbox);
  if (found == sandboxes_.end()) return Complain(message.sandbox, "rules: no such sandbox");
  SetRules(*found->second, std::move(message.rules));
  reports_.Send(nlohmann::ordered_json{{"event", "rules"}, {"sandbox", message.sandbox}});
}

void Server::Do(const LimitsMessage& message) {
  const auto found = sandboxes_.find(message.sandbox);
  if (found == sandboxes_.end()) return Complain(message.sandbox, "limits: no such sandbox");
  found->second->limits = message.limits;
}

// Its sandbox may be closed by now.
void Server::Do(const OwnerMessage& message) {
  const auto found = sandboxes_.find(message.sandbox);
  if (found != sandboxes_.end()) found->second->owners.Named(message.connection);
}

void Server::Do(const CloseMessage& message) {
  const auto found = sandboxes_.find(message.sandbox);
  if (found == sandboxes_.end()) return Complain(message.sandbox, "close: no such sandbox");
  const std::shared_ptr<Sandbox> sandbox = found->second;
  sandboxes_.erase(found);
  sandbox->secrets = {};
  sandbox->closed = true;
  sandbox->owners.wanted = false;  // nobody answers for it any more
  for (const auto& listener : sandbox->listeners) listener->Cut();
  sandbox->listeners.clear();
  for (Connection* connection : sandbox->live) connection->Cut("the sandbox is gone");
  sandbox->owners.GiveUp(INT64_MAX);
  loop_.EndGroup(sandbox->group);
  reports_.Send(nlohmann::ordered_json{{"event", "closed"}, {"sandbox", sandbox->id}});
}

void Server::CheckExpiries() {
  constexpr int64_t kOwnerMs = 2000;
  const int64_t now = loop_.Seconds();
  for (const auto& [id, sandbox] : sandboxes_) {
    sandbox->owners.GiveUp(loop_.now() - kOwnerMs);
    if (sandbox->next_expiry == 0 || now < sandbox->next_expiry) continue;
    sandbox->next_expiry = NextExpiry(sandbox->rules, now);
    CutWhatIsNotGranted(*sandbox);
  }
}

}  // namespace cloche::egress
