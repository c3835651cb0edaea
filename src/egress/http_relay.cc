#include "egress/http_relay.h"

#include <errno.h>
#include <fmt/core.h>

#include "base/text.h"
#include "egress/dial.h"
#include "egress/http_message.h"
#include "egress/http_request.h"
#include "egress/refuse.h"
#include "egress/relay.h"

namespace cloche::egress {
namespace {

struct Upload {
  explicit Upload(Loop& loop) : ended(loop) {}
  Signal ended;
  bool done = false, whole = false;
};

// Some servers do not read the body of these, and take it for the next request.
bool UsuallyHasNoBody(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "DELETE" || method == "OPTIONS";
}

// Data that belongs to a request besides its head.
struct Extras {
  explicit Extras(Sandbox& sandbox) : held(sandbox) {}
  Extras(const Extras&) = delete;
  Extras& operator=(const Extras&) = delete;
  ~Extras() {
    for (SecretInUse& each : secrets) Wipe(each.value);
    Wipe(body);
  }
  std::vector<SecretInUse> secrets;        // put in
  std::shared_ptr<const Needles> needles;  // none: the answer passes as it is
  std::string body;                        // read already, and to be sent with the head
  bool alone = false;  // no other request may follow in the connection to the server
  Held held;           // for it, and what the redaction holds back
};

Task<void> SendRequest(Connection& connection, const RequestHead& request, const Extras& extras,
                       Upload& upload) {
  std::string start = WriteRequestHead(request) + extras.body;
  Channel& server = *connection.upstream;
  upload.whole = co_await PassMessage(connection, connection.client, server, request, start);
  // The server learns that no more comes, and answers or goes.
  if (!upload.whole) server.EndSending();
  upload.done = true;
  // A server may take as long as it likes, but only while the program waits.
  connection.client.socket().WhenGone([&connection] { connection.Leave("the program went away"); });
  upload.ended.Set();
}

bool OffersWebSocketOnly(const HttpHead& head) {
  return head.Count("Upgrade") == 1 && SameText(*head.Find("Upgrade"), "websocket");
}

enum class After : uint8_t { kNext, kClose, kTunnel, kFailed };

// The state of the connection to the server after an answer.
struct Answered {
  std::string why;     // it failed
  bool early = false;  // the answer began before the request had gone
  bool keeps = false;  // it may have another request
};

// The program does not learn that we close our connection to the server.
void HideClose(ResponseHead& answer, const RequestHead& request) {
  answer.Remove("Connection");
  answer.Remove("Keep-Alive");
  const bool goes_on = request.keep_alive && answer.framing != Framing::kUntilClose &&
                       answer.minor == 1 && request.minor == 1;
  answer.keep_alive = goes_on;
  if (!goes_on) answer.headers.push_back({"Connection", "close"});
}

// Answers until the last one: 100 Continue and its kin come before it.
Task<After> ReceiveAnswer(Connection& connection, const RequestHead& request, const Extras& extras,
                          const Upload& upload, Answered& answered) {
  std::string& why = answered.why;
  Channel& server = *connection.upstream;
  bool begun = false;
  int interim = 0;
  while (true) {
    std::string head;
    const long got = co_await ReadHead(connection, server, head, true);
    if (got <= 0) {
      why = got == -EBADMSG ? "its answer is no HTTP/1.1" : "it closed without an answer";
      co_return begun ? After::kClose : After::kFailed;
    }
    auto answer = ParseResponseHead(head, request.method);
    if (!answer) {
      why = answer.error().message;
      co_return begun ? After::kClose : After::kFailed;
    }
    if (const char* hidden = WhyNotRedacted(*answer); extras.needles && *hidden != '\0') {
      why = hidden;
      co_return begun ? After::kClose : After::kFailed;
    }
    if (answer->status < 200 && ++interim > kMostInterim) {
      why = kTooManyInterim;
      co_return begun ? After::kClose : After::kFailed;
    }
    if (answer->status == 101 &&
        (request.Find("Upgrade") == nullptr || !OffersWebSocketOnly(*answer))) {
      why = "it switched to a protocol nobody asked for";
      co_return begun ? After::kClose : After::kFailed;
    }
    const bool server_keeps = answer->keep_alive;
    if (answer->status >= 200) {
      answered.early = !upload.done;
      if (extras.alone) HideClose(*answer, request);
    }
    std::string start = WriteResponseHead(*answer);
    begun = true;
    bool passed = false;
    if (extras.needles == nullptr) {
      passed = co_await PassMessage(connection, server, connection.client, *answer, start);
    } else {
      Redactor redactor(extras.needles);
      bool found = false;
      start = Redactor::All(extras.needles, start, found);
      passed =
          co_await PassRedacted(connection, server, connection.client, *answer, start, redactor);
      if (found || redactor.found()) TellRedacted(connection, extras.secrets);
    }
    if (!passed) {
      why = "the answer broke off";
      if (!connection.client.socket().cut()) connection.Cut(why);
      co_return After::kClose;
    }
    if (answer->status == 101) co_return After::kTunnel;
    if (answer->status < 200) continue;
    answered.keeps = server_keeps && !extras.alone && !answered.early && server.unread.empty();
    co_return answer->keep_alive&& request.keep_alive ? After::kNext : After::kClose;
  }
}

// Only WebSocket may take over a connection; other offers (h2c) are not passed on. With a secret
// not even that: what comes back could not be redacted.
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

Task<void> Answer(Connection& connection, int status, const std::string& reason) {
  co_await connection.OwnerKnown();
  const std::string page = HttpRefusal(status, reason);
  co_await Farewell(connection.client, page, connection.services.loop.now());
}

// For a proxy: the request's own host, admitted again when it differs from the one before.
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

// In a body too secrets take the place of their placeholders.
Task<bool> PutInBody(Connection& connection, RequestHead& request, Extras& extras) {
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
  const bool known = request.framing == Framing::kLength && request.length < kMostJson;
  const size_t most = known ? static_cast<size_t>(request.length) : kMostJson;
  if (!extras.held.Add(2 * most)) {  // as it came, and as it goes
    connection.record.reason = kHoldsTooMuch;
    co_await Answer(connection, 429, kHoldsTooMuch);
    co_return false;
  }
  const int whole = co_await ReadBody(connection, connection.client, request, kMostJson, body);
  if (whole <= 0) {
    if (whole == 0) co_await Answer(connection, 413, kJsonTooLong);
    co_return false;
  }
  if (connection.watch != nullptr) {
    CanaryScanner content = connection.watch->NewMessage();
    const bool betrays = co_await connection.Betrays(content, body);
    if (betrays) co_return false;
  }
  if (!PutSecretsInJson(body, extras.secrets)) {
    co_await Answer(connection, 413, kJsonTooLong);
    co_return false;
  }
  extras.body = std::move(body);
  CountUses(connection, extras.secrets);
  request.Remove("Transfer-Encoding");
  request.Remove("Trailer");
  request.Remove("Content-Length");
  request.headers.push_back({"Content-Length", std::to_string(extras.body.size())});
  request.framing = Framing::kNone;
  request.length = 0;
  co_return true;
}

Task<bool> ServeRequest(Connection& connection, Kind kind, bool proxy, RequestHead& request) {
  if (proxy) {
    const bool admitted = co_await Redirect(connection, request);
    if (!admitted) co_return false;
    for (const char* name : {"Proxy-Connection", "Proxy-Authorization"}) request.Remove(name);
  }
  auto judged = JudgeRequest(connection, kind, request);
  if (!judged) {
    co_await Answer(connection, judged.error().status, judged.error().reason);
    co_return false;
  }
  connection.asked.push_back(std::move(judged->asked));
  Extras extras(*connection.sandbox);
  extras.secrets = std::move(judged->secrets);
  extras.needles = std::move(judged->needles);
  // A body that the server does not read is the next request to it, which nobody has judged.
  extras.alone =
      request.framing != Framing::kNone && (judged->restricted || UsuallyHasNoBody(request.method));
  if (extras.needles && !extras.held.Add(extras.needles->most_held())) {
    connection.record.reason = kHoldsTooMuch;
    co_await Answer(connection, 429, kHoldsTooMuch);
    co_return false;
  }
  if (!extras.secrets.empty()) {
    const bool ready = co_await PutInBody(connection, request, extras);
    if (!ready) co_return false;
  }
  if (connection.upstream != nullptr && !connection.upstream->Quiet()) connection.upstream.reset();
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
      const Status secure = co_await SecureUpstream(connection, false);
      if (!secure) {
        connection.record.reason = secure.error().message;
        co_await Answer(connection, 502, secure.error().message);
        co_return false;
      }
    }
  }
  TrimUpgrade(request, extras.needles != nullptr);
  if (extras.alone) {
    request.Remove("Connection");
    request.headers.push_back({"Connection", "close"});
  }
  Upload upload(connection.services.loop);
  Start(SendRequest(connection, request, extras, upload));
  Answered answered;
  const std::string& why = answered.why;
  const After after = co_await ReceiveAnswer(connection, request, extras, upload, answered);
  connection.client.socket().WhenGone(nullptr);
  if (!upload.done) {
    // The program has its answer, and nobody reads the rest of its upload.
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
  if (after == After::kNext && !answered.keeps) connection.upstream.reset();
  co_return after == After::kNext&& upload.whole;
}

}  // namespace

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
    connection.asked.clear();
    if (!next) co_return;
  }
}

}  // namespace cloche::egress
