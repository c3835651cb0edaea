#include "egress/http_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "egress/host_name.h"

namespace cloche::egress {
namespace {

// Headers that some servers, proxies and frameworks let override the request line and Host.
constexpr std::string_view kMethodOverrides[] = {
    "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
    "X-HTTP-Verb-Override",   "X-HTTP-Verb",   "X-Method"};
constexpr std::string_view kPathOverrides[] = {
    "X-Original-URL",      "X-Original-URI",        "X-Original-Path",
    "X-Rewrite-URL",       "X-Rewrite-URI",         "X-Forwarded-URL",
    "X-Forwarded-Uri",     "X-Forwarded-Path",      "X-Override-URL",
    "X-Forwarded-Prefix",  "X-Envoy-Original-Path", "X-Forwarded-Host",
    "X-Original-Host",     "X-Forwarded-Server",    "X-Host",
    "X-HTTP-Host-Override"};

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

// Of Forwarded only host= is another place.
bool ForwardsForAnotherHost(const RequestHead& request) {
  return std::any_of(request.headers.begin(), request.headers.end(), [](const Header& header) {
    if (!SameText(header.name, "Forwarded")) return false;
    const std::string_view value = header.value;
    for (size_t at = 0; at + 4 <= value.size(); ++at)
      if (SameText(value.substr(at, 4), "host")) return true;
    return false;
  });
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

// Secrets that belong to this host take the place of their placeholders.
Result<std::vector<SecretInUse>> PutIn(const Connection& connection,
                                       const RequestDecision& decision, RequestHead& request) {
  std::vector<SecretInUse> secrets;
  for (const SecretUse& use : decision.secrets) {
    const std::string* value = connection.sandbox->secrets.Find(use.name);
    if (value == nullptr)
      return Fail(Code::kDenied, fmt::format("{} is granted with secret {}, which no longer exists",
                                             connection.target.Text(), use.name));
    secrets.push_back({use, *value});
  }
  if (!PutSecretsIn(request, secrets))
    return Fail(Code::kInvalid, "HTTP: with its secrets the head is too long");
  // Answers must come whole and readable, or what they echo could not be found.
  for (const char* name : {"Accept-Encoding", "Range", "Request-Range", "If-Range", "TE"})
    request.Remove(name);
  request.headers.push_back({"Accept-Encoding", "identity"});
  return secrets;
}

}  // namespace

void CountUses(Connection& connection, const std::vector<SecretInUse>& secrets) {
  for (const SecretInUse& each : secrets) {
    if (each.put_in) ++connection.record.secrets[each.use.name];
  }
}

void TellRedacted(Connection& connection, const std::vector<SecretInUse>& secrets) {
  ++connection.record.redacted;
  if (std::any_of(secrets.begin(), secrets.end(),
                  [](const SecretInUse& each) { return each.put_in; }))
    return;
  Record guess = connection.record;
  guess.connection = NextConnectionNumber();
  guess.time_ms = WallClockMs();
  guess.redacted = 1;
  guess.unasked = true;
  guess.reason = fmt::format(
      "an answer of {} had a secret in it, and its request no placeholder: a program inside may be "
      "guessing the value",
      connection.target.Text());
  guess.bytes_up = guess.bytes_down = guess.requests = 0;
  guess.secrets.clear();
  connection.Report(guess);
}

const char* WhyNotRedacted(const ResponseHead& answer) {
  if (answer.status == 206 || answer.Find("Content-Range") != nullptr)
    return "its answer is a part, although the whole was asked for: a secret in it could not be "
           "seen";
  for (const Header& header : answer.headers) {
    if (SameText(header.name, "Content-Encoding") && !SameText(header.value, "identity"))
      return "its answer is compressed, although it was asked not to: a secret in it could not be "
             "seen";
  }
  return "";
}

void TellRefusal(Connection& connection, const std::string& reason, const std::string& rule) {
  Record refusal = connection.record;
  refusal.connection = NextConnectionNumber();
  refusal.time_ms = WallClockMs();
  refusal.allowed = false;
  const bool says_decoy =
      connection.watch != nullptr && FindCanary(connection.sandbox->canaries, reason);
  refusal.reason = says_decoy ? "a request with a decoy in it" : reason;
  refusal.rule = rule;
  refusal.bytes_up = refusal.bytes_down = refusal.requests = refusal.redacted = 0;
  refusal.secrets.clear();
  connection.Report(refusal);
}

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

std::expected<Judged, Refusal> JudgeRequest(Connection& connection, Kind kind,
                                            RequestHead& request) {
  const uint16_t usual_port = kind == Kind::kHttps ? 443 : 80;
  const Status same = CheckHost(connection, request, usual_port);
  if (!same) {
    const bool denied = same.error().code == Code::kDenied;
    TellRefusal(connection, same.error().message, "");
    return std::unexpected(Refusal{denied ? 403 : 400, same.error().message});
  }
  // In our spelling, which can be read in one way only.
  request.Remove("Host");
  request.headers.insert(request.headers.begin(),
                         {"Host", HostHeader(connection.target, usual_port)});
  const Request asked{request.method, request.PathWithoutQuery(), HasAny(request, kMethodOverrides),
                      HasAny(request, kPathOverrides) || ForwardsForAnotherHost(request)};
  const RequestDecision decision = DecideRequest(connection.sandbox->rules, connection.target, kind,
                                                 asked, connection.services.loop.Seconds());
  if (!decision.allowed || request.method == "CONNECT" || request.method == "TRACE") {
    const std::string reason =
        decision.allowed ? request.method + " is not passed on" : decision.reason;
    TellRefusal(connection, reason, decision.rule);
    return std::unexpected(Refusal{403, reason});
  }
  connection.record.rule = decision.rule;
  Judged judged;
  judged.restricted = decision.restricted;
  judged.asked = {request.method, std::string(asked.path), asked.overrides_method,
                  asked.overrides_path};
  if (connection.record.requests > 0 && !connection.TakeRequest()) {
    TellRefusal(connection, connection.record.reason, decision.rule);
    return std::unexpected(Refusal{429, connection.record.reason});
  }
  ++connection.record.requests;
  if (!connection.sandbox->secrets.RedactsAt(connection.target)) return judged;
  auto secrets = PutIn(connection, decision, request);
  if (!secrets) {
    TellRefusal(connection, secrets.error().message, connection.record.rule);
    const bool denied = secrets.error().code == Code::kDenied;
    return std::unexpected(Refusal{denied ? 403 : 400, secrets.error().message});
  }
  judged.secrets = std::move(*secrets);
  judged.needles = connection.sandbox->secrets.ToRedact();
  return judged;
}

}  // namespace cloche::egress
