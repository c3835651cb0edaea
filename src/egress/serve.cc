#include "egress/serve.h"

#include <fmt/core.h>

#include "egress/certificates.h"
#include "egress/client_hello.h"
#include "egress/dial.h"
#include "egress/dns_server.h"
#include "egress/h2_relay.h"
#include "egress/host_name.h"
#include "egress/http_relay.h"
#include "egress/http_request.h"
#include "egress/refuse.h"
#include "egress/relay.h"
#include "egress/socks.h"
#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr std::string_view kSshGreeting = "SSH-2.0-";
constexpr uint16_t kDnsPort = 53;
constexpr std::string_view kHiddenHello =
    "the ClientHello is encrypted (ECH): its name cannot be checked";

Task<void> DenyAndRefuse(Connection& connection, const std::string& reason) {
  connection.Deny(reason);
  co_await Refuse(connection, reason);
}

// The name in the hello must be the one that was granted, in clear.
std::string WhyNot(const ClientHello& hello, const Target& target) {
  if (hello.state() == ClientHello::State::kBad) return hello.why();
  if (hello.state() == ClientHello::State::kMore) return "the ClientHello is in too many records";
  if (target.name.empty()) {
    if (hello.name().empty()) return "";
    return "a name in the ClientHello (SNI), but the connection is to an address";
  }
  if (hello.name().empty()) return "the ClientHello has no name (SNI)";
  const auto name = NormaliseHost(hello.name());
  if (name && *name == target.name) return "";
  return fmt::format("the ClientHello is for {}, the connection for {}",
                     name ? *name : "no proper name", target.name);
}

// Protocols with a greeting are recognised by it; other bytes pass unread.
Task<void> DialAndRelay(Connection& connection, Kind kind, std::string_view greeting = {}) {
  connection.record.kind = KindName(kind);
  connection.served = kind;
  connection.opaque = greeting.empty();
  const Status dialled = co_await Dial(connection);
  if (dialled) {
    if (kind == Kind::kHttps) {
      const TlsHandshake::Judge judge = [&target = connection.target](const ClientHello& hello) {
        return hello.encrypted() ? std::string(kHiddenHello) : WhyNot(hello, target);
      };
      co_await RelayTls(connection, judge);
    } else {
      co_await Relay(connection, greeting);
    }
    co_return;
  }
  const std::string& reason = dialled.error().message;
  if (dialled.error().code == Code::kDenied) {
    co_await DenyAndRefuse(connection, reason);
    co_return;
  }
  connection.record.reason = reason;
  co_await connection.OwnerKnown();
  connection.client.ResetOnClose();
}

// A program that offers HTTP/2 gets what the server speaks; so it must be asked first. nullopt: it
// is there; otherwise what the program shall read.
Task<std::optional<Refusal>> AskUpstream(Connection& connection) {
  connection.served = Kind::kHttps;
  Status there = co_await Dial(connection);
  if (there) there = co_await SecureUpstream(connection, true);
  if (there) co_return std::nullopt;
  connection.upstream.reset();
  const Refusal refusal{there.error().code == Code::kDenied ? 403 : 502, there.error().message};
  connection.record.reason = refusal.reason;
  if (refusal.status == 403) connection.Deny(refusal.reason);
  co_return refusal;
}

// TLS ends here: requests are read, decided on, and sent on in a connection of our own.
Task<void> ServeInside(Connection& connection, bool offers_http2) {
  const Target& target = connection.target;
  std::optional<Refusal> unreachable;
  bool two = false;
  if (offers_http2) {
    unreachable = co_await AskUpstream(connection);
    two = unreachable || connection.upstream->tls()->SpeaksHttp2();
  }
  std::unique_ptr<Tls> tls =
      connection.sandbox->certificates->Accept(target.Host(), target.name.empty(), two);
  const int64_t deadline = connection.Deadline(kHeadPatienceMs);
  bool secure = false;
  if (tls != nullptr) secure = co_await connection.client.Secure(std::move(tls), deadline);
  if (!secure) {
    Tls* failed = connection.client.tls();
    connection.record.reason = failed == nullptr ? "no certificate could be made" : failed->why;
    co_return;
  }
  if (connection.client.tls()->SpeaksHttp2()) {
    co_await ServeH2(connection, std::move(unreachable));
  } else {
    if (two) connection.upstream.reset();  // it would not be understood
    co_await ServeHttp(connection, Kind::kHttps, false);
  }
}

Task<void> ServeHttps(Connection& connection) {
  connection.record.kind = "https";
  Channel& client = connection.client;
  ClientHello hello;
  hello.Feed(client.unread);
  const int64_t deadline = connection.Deadline(kHeadPatienceMs);
  while (hello.state() == ClientHello::State::kMore) {
    const size_t before = client.unread.size();
    const long got = co_await client.Fill(deadline);
    if (got <= 0) {
      if (connection.record.reason.empty()) connection.record.reason = "no ClientHello came";
      client.ResetOnClose();
      co_return;
    }
    hello.Feed(std::string_view(client.unread).substr(before));
    if (client.unread.size() > TlsHandshake::kMostHeld) break;
  }
  const std::string why_not = WhyNot(hello, connection.target);
  if (!why_not.empty()) {
    const std::string reason = fmt::format("{}: {}", connection.target.Text(), why_not);
    co_await DenyAndRefuse(connection, reason);
    co_return;
  }
  const ConnectionDecision decision = connection.Decide();
  if (!decision.kinds.https) {
    const std::string reason = connection.target.Text() + " is not granted any more";
    co_await DenyAndRefuse(connection, reason);
    co_return;
  }
  if (decision.reads_requests && connection.sandbox->certificates != nullptr) {
    co_await ServeInside(connection, hello.offers_http2());
    co_return;
  }
  // Where TLS ends here, the hidden hello is ours to ignore. Elsewhere the server might have its
  // key; by our resolver nobody gets one.
  if (hello.encrypted()) {
    const std::string reason = fmt::format("{}: {}", connection.target.Text(), kHiddenHello);
    co_await DenyAndRefuse(connection, reason);
    co_return;
  }
  if (decision.must_read_requests) {
    const std::string reason = fmt::format(
        "{}: rule {} speaks of requests, which only a sandbox with a certificate authority can "
        "read",
        connection.target.Text(), decision.rule);
    co_await DenyAndRefuse(connection, reason);
    co_return;
  }
  co_await DialAndRelay(connection, Kind::kHttps);
}

}  // namespace

Task<void> ServeTarget(Connection& connection) {
  ConnectionDecision decision = connection.Decide();
  const KindSet& kinds = decision.kinds;
  Channel& client = connection.client;
  if (kinds.tcp && !decision.must_read_requests) {
    co_await DialAndRelay(connection, Kind::kTcp);
    co_return;
  }
  if (kinds.ssh && !kinds.https && !kinds.http) {
    co_await DialAndRelay(connection, Kind::kSsh, kSshGreeting);
    co_return;
  }
  if (client.unread.empty()) {
    const int64_t deadline = connection.Deadline(kHeadPatienceMs);
    const long got = co_await client.Fill(deadline);
    if (got <= 0) {
      if (connection.record.reason.empty()) connection.record.reason = "the program said nothing";
      client.ResetOnClose();
      co_return;
    }
    decision = connection.Decide();
  }
  if (!decision.allowed) {
    co_await DenyAndRefuse(connection, decision.reason);
  } else if (LooksLikeTls(client.unread) && kinds.https) {
    co_await ServeHttps(connection);
  } else if (kinds.ssh && client.unread[0] == 'S') {
    co_await DialAndRelay(connection, Kind::kSsh, kSshGreeting);
  } else if (!LooksLikeTls(client.unread) && kinds.http) {
    co_await ServeHttp(connection, Kind::kHttp, false);
  } else {
    const std::string reason = fmt::format("{} is granted for {} only", connection.target.Text(),
                                           kinds.https  ? "https"
                                           : kinds.http ? "http"
                                           : kinds.ssh  ? "ssh"
                                                        : "requests");
    co_await DenyAndRefuse(connection, reason);
  }
}

Task<void> ServeRedirected(std::unique_ptr<Connection> connection, bool six) {
  const int fd = connection->client.socket().fd();
  sys::Endpoint wanted, ours;
  // A connection to our own port was not redirected, and there is nothing to serve.
  if (sys::OriginalDestination(fd, six, wanted) < 0 || sys::LocalEnd(fd, ours) < 0 ||
      wanted == ours) {
    connection->client.ResetOnClose();
    co_return;
  }
  if (wanted.port == kDnsPort) {
    co_await ServeDnsStream(*connection);
    co_return;
  }
  connection->record.kind = "tcp";
  const Target target = TargetAt(*connection->sandbox, wanted.address, wanted.port);
  const ConnectionDecision decision = connection->Admit(target);
  if (decision.allowed) {
    co_await ServeTarget(*connection);
  } else {
    co_await Refuse(*connection, decision.reason);
  }
}

namespace {

Task<void> ServeSocks(Connection& connection) {
  Channel& client = connection.client;
  connection.record.kind = "socks";
  const int64_t deadline = connection.Deadline(kHeadPatienceMs);
  SocksGreeting greeting;
  SocksRequest request;
  size_t used = 0;
  Parsed parsed;
  while ((parsed = ParseSocksGreeting(client.unread, used, greeting)) == Parsed::kMore) {
    const long got = co_await client.Fill(deadline);
    if (got <= 0) co_return;
  }
  if (parsed == Parsed::kBad) co_return;
  client.unread.erase(0, used);
  const std::string_view method(greeting.plain ? "\x05\x00" : "\x05\xff", 2);
  const long answered = co_await client.Write(method, deadline);
  if (answered < 0 || !greeting.plain) co_return;
  while ((parsed = ParseSocksRequest(client.unread, used, request)) == Parsed::kMore) {
    const long got = co_await client.Fill(deadline);
    if (got <= 0) co_return;
  }
  uint8_t code = kSocksGranted;
  Result<Target> target = Fail(Code::kInvalid, "SOCKS: the request cannot be read");
  if (parsed == Parsed::kBad || (request.command == 1 && request.port == 0)) {
    code = kSocksFailure;
  } else if (request.command != 1) {
    code = kSocksNoSuchCommand;
  } else if (request.name.empty()) {
    target = TargetAt(*connection.sandbox, request.address, request.port);
  } else if (const auto address = ParseIpAddress(request.name)) {
    target = TargetAt(*connection.sandbox, *address, request.port);
  } else if (const auto name = NormaliseHost(request.name)) {
    target = Target{.name = *name, .port = request.port};
  } else {
    target = std::unexpected(name.error());
    code = kSocksNotAllowed;
  }
  ConnectionDecision decision;
  if (target) {
    client.unread.erase(0, used);
    decision = connection.Admit(*target);
    if (!decision.allowed) code = kSocksNotAllowed;
  } else {
    connection.record.port = request.port;
    connection.Deny(target.error().message);
  }
  const std::string reply = MakeSocksReply(code);
  if (code != kSocksGranted) {
    co_await connection.OwnerKnown();
    co_await Farewell(client, reply, connection.services.loop.now());
    co_return;
  }
  const long sent = co_await client.Write(reply, deadline);
  if (sent == 0) co_await ServeTarget(connection);
}

Task<void> ServeConnect(Connection& connection, std::string_view head) {
  Channel& client = connection.client;
  connection.record.kind = "connect";
  const auto request = ParseRequestHead(head);
  Result<Target> target = request ? TargetOf(*connection.sandbox, request->authority, 0)
                                  : Result<Target>(std::unexpected(request.error()));
  // Two names in one request are one too many.
  if (target && request->Find("Host") != nullptr) {
    const auto host = TargetOf(*connection.sandbox, *request->Find("Host"), target->port);
    if (!host || *host != *target) target = Fail(Code::kInvalid, "CONNECT: Host is another");
  }
  if (!target) {
    const std::string page = HttpRefusal(400, target.error().message);
    connection.Deny(target.error().message);
    co_await connection.OwnerKnown();
    co_await Farewell(client, page, connection.services.loop.now());
    co_return;
  }
  const ConnectionDecision decision = connection.Admit(*target);
  if (!decision.allowed) {
    const std::string page = HttpRefusal(connection.over_limit() ? 429 : 403, decision.reason);
    co_await connection.OwnerKnown();
    co_await Farewell(client, page, connection.services.loop.now());
    co_return;
  }
  const int64_t deadline = connection.Deadline(kHeadPatienceMs);
  const long sent = co_await client.Write("HTTP/1.1 200 Connection established\r\n\r\n", deadline);
  if (sent == 0) co_await ServeTarget(connection);
}

}  // namespace

Task<void> ServeProxy(std::unique_ptr<Connection> connection) {
  Channel& client = connection->client;
  const int64_t deadline = connection->Deadline(kHeadPatienceMs);
  const long got = co_await client.Fill(deadline);
  if (got <= 0) co_return;
  if (client.unread[0] == '\x05') {
    co_await ServeSocks(*connection);
    co_return;
  }
  constexpr std::string_view kConnect = "CONNECT ";
  while (client.unread.size() < kConnect.size() && kConnect.starts_with(client.unread)) {
    const long more = co_await client.Fill(deadline);
    if (more <= 0) co_return;
  }
  if (!client.unread.starts_with(kConnect)) {
    co_await ServeHttp(*connection, Kind::kHttp, true);
    co_return;
  }
  std::string head;
  const long read = co_await ReadHead(*connection, client, head, false);
  if (read > 0) {
    co_await ServeConnect(*connection, head);
  } else if (read < 0) {
    const std::string page = HttpRefusal(400, "CONNECT: it has no proper head");
    co_await Farewell(client, page, connection->services.loop.now());
  }
}

}  // namespace cloche::egress
