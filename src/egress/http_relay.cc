#include "egress/http_relay.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "egress/dial.h"
#include "egress/host_name.h"
#include "egress/http_message.h"
#include "egress/refuse.h"
#include "egress/relay.h"

namespace cloche::egress {
namespace {

constexpr size_t kMostJson = 1 << 20;
constexpr std::string_view kMethodOverrides[] = {"X-HTTP-Method-Override", "X-HTTP-Method",
                                                 "X-Method-Override"};
constexpr std::string_view kPathOverrides[] = {"X-Original-URL", "X-Rewrite-URL"};

// Many servers read _ in a header's name as -.
bool HasAny(const RequestHead& request, std::span<const std::string_view> names) {
  for (const Header& header : request.headers) {
    std::string name = header.name;
    std::replace(name.begin(), name.end(), '_', '-');
    for (const std::string_view each : names) {
      if (SameText(name, each)) return true;
    }
  }
  return false;
}

struct Upload {
  explicit Upload(Loop& loop) : ended(loop) {}
  Signal ended;
  bool done = false, whole = false;
};

// What goes with a request besides itself.
struct Extras {
  Extras() = default;
  Extras(const Extras&) = delete;
  Extras& operator=(const Extras&) = delete;
  ~Extras() {
    for (SecretInUse& each : secrets) Wipe(each.value);
  }
  std::vector<SecretInUse> secrets;  // put in, or at least masked
  std::string body;                  // read already, and to be sent with the head
};

Task<void> SendRequest(Connection& connection, const RequestHead& request, const Extras& extras,
                       Upload& upload) {
  std::string start = WriteRequestHead(request) + extras.body;
  Channel& server = *connection.upstream;
  upload.whole = co_await PassMessage(connection, connection.client, server, request, start);
  // The server learns that no more comes, and answers or goes.
  if (!upload.whole) server.EndSending();
  upload.done = true;
  upload.ended.Set();
}

bool OffersWebSocketOnly(const HttpHead& head) {
  return head.Count("Upgrade") == 1 && SameText(*head.Find("Upgrade"), "websocket");
}

enum class After : uint8_t { kNext, kClose, kTunnel, kFailed };

// Answers until the last one: 100 Continue and its kin come before it.
Task<After> ReceiveAnswer(Connection& connection, const RequestHead& request, const Extras& extras,
                          std::string& why) {
  Channel& server = *connection.upstream;
  bool begun = false;
  while (true) {
    std::string head;
    const long got = co_await ReadHead(connection, server, head, true);
    if (got <= 0) {
      why = got == -EBADMSG ? "its answer is no HTTP/1.1" : "it closed without an answer";
      co_return begun ? After::kClose : After::kFailed;
    }
    const auto answer = ParseResponseHead(head, request.method);
    if (!answer) {
      why = answer.error().message;
      co_return begun ? After::kClose : After::kFailed;
    }
    const bool coded =
        std::any_of(answer->headers.begin(), answer->headers.end(), [](const Header& header) {
          return SameText(header.name, "Content-Encoding") && !SameText(header.value, "identity");
        });
    if (coded && !extras.secrets.empty()) {
      why =
          "its answer is compressed, although it was asked not to: a secret in it could not be "
          "seen";
      co_return begun ? After::kClose : After::kFailed;
    }
    if (answer->status == 101 &&
        (request.Find("Upgrade") == nullptr || !OffersWebSocketOnly(*answer))) {
      why = "it switched to a protocol nobody asked for";
      co_return begun ? After::kClose : After::kFailed;
    }
    std::string start = WriteResponseHead(*answer);
    begun = true;
    Masker masker(extras.secrets);
    bool passed = false;
    if (masker.empty()) {
      passed = co_await PassMessage(connection, server, connection.client, *answer, start);
    } else {
      passed = co_await PassMasked(connection, server, connection.client, *answer, start, masker);
    }
    if (!passed) {
      why = "the answer broke off";
      connection.Cut(why);
      co_return After::kClose;
    }
    if (answer->status == 101) co_return After::kTunnel;
    if (answer->status < 200) continue;
    co_return answer->keep_alive&& request.keep_alive ? After::kNext : After::kClose;
  }
}

// The host as the request names it must be the one that was decided on.
Status CheckHost(const Connection& connection, const RequestHead& request, uint16_t usual_port) {
  const Target& target = connection.target;
  const std::string* host = request.Find("Host");
  if (host == nullptr && request.authority.empty())
    return Fail(Code::kInvalid, "HTTP: Host is missing");
  for (const std::string* each : {host, request.authority.empty() ? nullptr : &request.authority}) {
    if (each == nullptr) continue;
    ASSIGN_OR_RETURN(const Target named, TargetOf(*connection.sandbox, *each, usual_port));
    if (named != target)
      return Fail(Code::kDenied, fmt::format("the request is for {}, the connection for {}",
                                             named.Text(), target.Text()));
  }
  return {};
}

std::string HostHeader(const Target& target, uint16_t usual_port) {
  const bool six = target.name.empty() && target.address.six;
  const std::string host = six ? "[" + target.Host() + "]" : target.Host();
  return target.port == usual_port ? host : fmt::format("{}:{}", host, target.port);
}

// Only WebSocket may take over a connection; other offers (h2c) are not passed on. With a secret
// not even that: what comes back could not be masked.
void TrimUpgrade(RequestHead& request, bool secret) {
  request.Remove("HTTP2-Settings");
  if (request.Find("Upgrade") == nullptr) return;
  const bool passes = !secret && OffersWebSocketOnly(request) &&
                      request.Lists("Connection", "upgrade") && request.method == "GET" &&
                      request.framing == Framing::kNone;
  const bool close = request.Lists("Connection", "close");
  if (!passes) request.Remove("Upgrade");
  request.Remove("Connection");
  if (passes) request.headers.push_back({"Connection", "Upgrade"});
  if (close && !passes) request.headers.push_back({"Connection", "close"});
}

void TellRefusal(Connection& connection, const std::string& reason, const std::string& rule) {
  Record refusal = connection.record;
  refusal.connection = NextConnectionNumber();
  refusal.time_ms = WallClockMs();
  refusal.allowed = false;
  refusal.reason = reason;
  refusal.rule = rule;
  refusal.bytes_up = refusal.bytes_down = refusal.requests = 0;
  refusal.secrets.clear();
  connection.services.reports.Send(refusal);
}

Task<void> Answer(Connection& connection, int status, const std::string& reason) {
  const std::string page = HttpRefusal(status, reason);
  co_await Farewell(connection.client, page, connection.services.loop.now());
}

// Of a proxy: the request's own host, admitted anew when it is another than before.
Task<bool> Redirect(Connection& connection, const RequestHead& request) {
  if (request.scheme != "http") {
    co_await Answer(connection, 400, "a proxy wants http://HOST/PATH, or CONNECT");
    co_return false;
  }
  const auto target = TargetOf(*connection.sandbox, request.authority, 80);
  if (!target) {
    co_await Answer(connection, 400, target.error().message);
    co_return false;
  }
  if (*target == connection.target) co_return true;
  connection.upstream.reset();
  const ConnectionDecision decision = connection.Admit(*target);
  if (decision.allowed && decision.kinds.http) co_return true;
  std::string reason = decision.reason;
  if (decision.allowed) {
    reason = fmt::format("{} is granted, but not for plain HTTP", target->Text());
    connection.Deny(reason, decision.rule);
  }
  co_await Answer(connection, connection.over_limit() ? 429 : 403, reason);
  co_return false;
}

void CountUses(Connection& connection, const std::vector<SecretInUse>& secrets) {
  for (const SecretInUse& each : secrets) {
    if (each.put_in) ++connection.record.secrets[each.use.name];
  }
}

// Secrets that belong to this host take the place of their placeholders.
Task<bool> PutIn(Connection& connection, const RequestDecision& decision, RequestHead& request,
                 Extras& extras) {
  for (const SecretUse& use : decision.secrets) {
    const auto found = connection.sandbox->secrets.find(use.name);
    if (found == connection.sandbox->secrets.end()) {
      const std::string reason = fmt::format("{} is granted with secret {}, which there is no more",
                                             connection.target.Text(), use.name);
      TellRefusal(connection, reason, connection.record.rule);
      co_await Answer(connection, 403, reason);
      co_return false;
    }
    extras.secrets.push_back({use, found->second});
  }
  PutSecretsIn(request, extras.secrets);
  for (const std::string& name : decision.masked) {
    const auto found = connection.sandbox->secrets.find(name);
    if (found != connection.sandbox->secrets.end())
      extras.secrets.push_back({SecretUse{.name = name}, found->second});
  }
  for (const std::string& value : connection.sandbox->rotated_secrets)
    extras.secrets.push_back({SecretUse{}, value});
  // Answers must come whole and readable, or what they echo could not be found.
  for (const char* name : {"Accept-Encoding", "Range", "If-Range", "TE"}) request.Remove(name);
  request.headers.push_back({"Accept-Encoding", "identity"});
  if (!HasJsonSecrets(request, extras.secrets) || request.framing == Framing::kNone) {
    CountUses(connection, extras.secrets);
    co_return true;
  }
  if (request.Find("Expect") != nullptr) {
    const int64_t deadline = connection.Deadline(kWritePatienceMs);
    const long sent = co_await connection.client.Write("HTTP/1.1 100 Continue\r\n\r\n", deadline);
    if (sent < 0) co_return false;
    request.Remove("Expect");
  }
  std::string body;
  const int whole = co_await ReadBody(connection, connection.client, request, kMostJson, body);
  if (whole <= 0) {
    const std::string reason = "a JSON body with a secret in it may have 1 MiB";
    if (whole == 0) co_await Answer(connection, 413, reason);
    co_return false;
  }
  extras.body = PutSecretsInJson(std::move(body), extras.secrets);
  CountUses(connection, extras.secrets);
  request.Remove("Transfer-Encoding");
  request.Remove("Trailer");
  request.Remove("Content-Length");
  request.headers.push_back({"Content-Length", std::to_string(extras.body.size())});
  request.framing = Framing::kNone;
  co_return true;
}

// The server must prove that it is the host; otherwise the program is told why.
Task<bool> SecureUpstream(Connection& connection) {
  const Target& target = connection.target;
  const int64_t deadline = connection.Deadline(kConnectPatienceMs);
  std::unique_ptr<Tls> tls =
      connection.services.trust.ConnectTo(target.Host(), target.name.empty());
  bool secure = false;
  if (tls != nullptr) secure = co_await connection.upstream->Secure(std::move(tls), deadline);
  if (secure) {
    connection.record.certificate_sha256 = connection.upstream->tls()->PeerSha256();
    co_return true;
  }
  Tls* failed = connection.upstream->tls();
  const std::string reason =
      fmt::format("{}: {}", target.Text(), failed == nullptr ? "out of memory" : failed->why);
  connection.record.reason = reason;
  co_await Answer(connection, 502, reason);
  co_return false;
}

Task<bool> ServeRequest(Connection& connection, Kind kind, bool proxy, RequestHead& request) {
  if (proxy) {
    const bool admitted = co_await Redirect(connection, request);
    if (!admitted) co_return false;
    for (const char* name : {"Proxy-Connection", "Proxy-Authorization"}) request.Remove(name);
  }
  const uint16_t usual_port = kind == Kind::kHttps ? 443 : 80;
  const Status same = CheckHost(connection, request, usual_port);
  if (!same) {
    const bool denied = same.error().code == Code::kDenied;
    TellRefusal(connection, same.error().message, "");
    co_await Answer(connection, denied ? 403 : 400, same.error().message);
    co_return false;
  }
  // In our spelling: there is one way to read it.
  request.Remove("Host");
  request.headers.insert(request.headers.begin(),
                         {"Host", HostHeader(connection.target, usual_port)});
  const Request asked{request.method, request.PathWithoutQuery(), HasAny(request, kMethodOverrides),
                      HasAny(request, kPathOverrides)};
  const RequestDecision decision = DecideRequest(connection.sandbox->rules, connection.target, kind,
                                                 asked, connection.services.loop.Seconds());
  if (!decision.allowed || request.method == "CONNECT" || request.method == "TRACE") {
    const std::string reason =
        decision.allowed ? request.method + " is not passed on" : decision.reason;
    TellRefusal(connection, reason, decision.rule);
    co_await Answer(connection, 403, reason);
    co_return false;
  }
  connection.record.rule = decision.rule;
  connection.asked = Connection::Asked{request.method, std::string(asked.path),
                                       asked.overrides_method, asked.overrides_path};
  if (connection.record.requests > 0 && !connection.TakeRequest()) {
    TellRefusal(connection, connection.record.reason, decision.rule);
    co_await Answer(connection, 429, connection.record.reason);
    co_return false;
  }
  ++connection.record.requests;
  Extras extras;
  if (!decision.masked.empty()) {
    const bool ready = co_await PutIn(connection, decision, request, extras);
    if (!ready) co_return false;
  }
  if (connection.upstream == nullptr) {
    const Status dialled = co_await Dial(connection);
    if (!dialled) {
      const bool denied = dialled.error().code == Code::kDenied;
      if (denied) connection.Deny(dialled.error().message);
      connection.record.reason = dialled.error().message;
      co_await Answer(connection, denied ? 403 : 502, dialled.error().message);
      co_return false;
    }
    if (kind == Kind::kHttps) {
      const bool secure = co_await SecureUpstream(connection);
      if (!secure) co_return false;
    }
  }
  TrimUpgrade(request, !extras.secrets.empty());
  Upload upload(connection.services.loop);
  Start(SendRequest(connection, request, extras, upload));
  std::string why;
  const After after = co_await ReceiveAnswer(connection, request, extras, why);
  if (!upload.done) {
    // It has its answer and would go on sending: nobody reads that any more.
    if (after == After::kFailed) {
      const std::string page = HttpRefusal(502, connection.target.Text() + ": " + why);
      co_await connection.client.Write(page, connection.Deadline(1000));
    }
    connection.client.EndSending();
    connection.client.Cut();
    connection.upstream->Cut();
    co_await upload.ended;
    co_return false;
  }
  if (!why.empty() && connection.record.reason.empty()) connection.record.reason = why;
  if (after == After::kFailed) {
    const std::string reason = connection.target.Text() + ": " + why;
    co_await Answer(connection, 502, reason);
  }
  if (after == After::kTunnel) co_await Relay(connection);
  co_return after == After::kNext&& upload.whole;
}

}  // namespace

Target TargetAt(const Sandbox& sandbox, const IpAddress& address, uint16_t port) {
  if (const std::string* name = sandbox.names.NameAt(address)) return {.name = *name, .port = port};
  return {.address = address, .port = port};
}

Result<Target> TargetOf(const Sandbox& sandbox, std::string_view authority, uint16_t usual_port) {
  ASSIGN_OR_RETURN(const Authority parsed, ParseAuthority(authority));
  const uint16_t port = parsed.port == 0 ? usual_port : parsed.port;
  if (port == 0) return Fail(Code::kInvalid, "a port is missing");
  if (parsed.is_address) return TargetAt(sandbox, *ParseIpAddress(parsed.host), port);
  return Target{.name = parsed.host, .port = port};
}

Task<long> ReadHead(Connection& connection, Channel& channel, std::string& head, bool idle_first) {
  size_t looked = 0;
  int64_t deadline = idle_first ? connection.IdleDeadline() : connection.Deadline(kHeadPatienceMs);
  while (true) {
    if (!channel.unread.empty()) {
      const HeadEnd end = FindHeadEnd(channel.unread, looked);
      if (end == HeadEnd::kBad) co_return -EBADMSG;
      if (end == HeadEnd::kFound) {
        head = channel.unread.substr(0, looked);
        channel.unread.erase(0, looked);
        co_return 1;
      }
    }
    const bool first = channel.unread.empty();
    const long got = co_await channel.Fill(deadline);
    if (got <= 0) co_return first || got < 0 ? got : -EBADMSG;
    if (first) deadline = connection.Deadline(kHeadPatienceMs);
  }
}

Task<void> ServeHttp(Connection& connection, Kind kind, bool proxy) {
  connection.record.kind = KindName(kind);
  connection.served = kind;
  while (true) {
    std::string head;
    const bool later = connection.record.requests > 0;
    const long got = co_await ReadHead(connection, connection.client, head, later);
    if (got == 0) co_return;
    Result<RequestHead> request =
        got > 0 ? ParseRequestHead(head)
                : Result<RequestHead>(Fail(Code::kInvalid, "HTTP: the request has no proper head"));
    if (!request) {
      if (got < 0 && got != -EBADMSG) co_return;
      TellRefusal(connection, request.error().message, "");
      co_await Answer(connection, 400, request.error().message);
      co_return;
    }
    const bool next = co_await ServeRequest(connection, kind, proxy, *request);
    connection.asked.reset();
    if (!next) co_return;
  }
}

}  // namespace cloche::egress
