#include "egress/decide.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "egress/host_name.h"
#include "egress/rule_text.h"

namespace cloche::egress {
namespace {

bool InForce(const Rule& rule, int64_t now) { return rule.expires == 0 || now < rule.expires; }

bool CoversPort(const Rule& rule, uint16_t port) {
  return rule.first_port <= port && port <= rule.last_port;
}

// A denial covers whatever lies in its range, a grant no reserved address it does not name.
bool HoldsAddress(const Rule& rule, const IpAddress& address) {
  return rule.allow ? Grants(*rule.range, address) : rule.range->Contains(address);
}

// Compares the destination as the connection names it; the addresses of its name are checked later.
bool CoversHost(const Rule& rule, const Target& target) {
  if (!target.name.empty()) return !rule.host.empty() && HostMatches(rule.host, target.name);
  return rule.host.empty() && rule.range && HoldsAddress(rule, target.address);
}

bool Covers(const Rule& rule, const Target& target, int64_t now) {
  return InForce(rule, now) && CoversPort(rule, target.port) && CoversHost(rule, target);
}

// Decodes %XX once: %61dmin is admin.
std::string Decoded(std::string_view path) {
  std::string decoded;
  for (size_t i = 0; i < path.size(); ++i) {
    const bool coded = path[i] == '%' && i + 2 < path.size() && HexDigit(path[i + 1]) >= 0 &&
                       HexDigit(path[i + 2]) >= 0;
    decoded +=
        coded ? static_cast<char>(HexDigit(path[i + 1]) << 4 | HexDigit(path[i + 2])) : path[i];
    if (coded) i += 2;
  }
  return decoded;
}

// Some servers take /Admin for /admin: a denial covers all spellings, a grant only its own.
bool CoversRequest(const Rule& rule, const Request& request) {
  const auto spelled = [&](std::string_view text) {
    return rule.allow ? std::string(text) : Lowered(text);
  };
  const auto is_method = [&](const std::string& method) {
    return spelled(method) == spelled(request.method);
  };
  if (!rule.methods.empty() && std::none_of(rule.methods.begin(), rule.methods.end(), is_method))
    return false;
  return rule.path_prefix.empty() ||
         PathIsBelow(spelled(Decoded(rule.path_prefix)), spelled(Decoded(request.path)));
}

std::string Denied(const Rule& rule, const std::string& what) {
  return fmt::format("{} is denied by rule {}", what, rule.id);
}

}  // namespace

std::string Target::Text() const {
  return name.empty() ? FormatEndpoint(address, port) : fmt::format("{}:{}", name, port);
}

bool KindSet::Has(Kind kind) const {
  switch (kind) {
    case Kind::kHttps:
      return https;
    case Kind::kHttp:
      return http;
    case Kind::kTcp:
      return tcp;
    case Kind::kSsh:
      return ssh;
  }
  return false;
}

bool NameIsGranted(std::span<const Rule> rules, std::string_view name, int64_t now) {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.allow && InForce(rule, now) && !rule.host.empty() && HostMatches(rule.host, name);
  });
}

ConnectionDecision DecideConnection(std::span<const Rule> rules, const Target& target,
                                    int64_t now) {
  ConnectionDecision decision;
  bool plain_https = false;
  for (const Rule& rule : rules) {
    if (!Covers(rule, target, now)) continue;
    if (!rule.allow && !rule.LooksIntoRequests()) {
      decision.reason = Denied(rule, target.Text());
      decision.rule = rule.id;
      decision.kinds = {};
      decision.allowed = false;
      return decision;
    }
    if (rule.LooksIntoRequests()) decision.reads_requests = true;
    // A secret sent there must not come back unseen, by any rule.
    if (rule.secret) decision.must_read_requests = true;
    if (!rule.allow) {
      decision.must_read_requests = true;
      continue;
    }
    if (rule.kind == Kind::kHttps && !rule.LooksIntoRequests()) plain_https = true;
    switch (rule.kind) {
      case Kind::kHttps:
        decision.kinds.https = true;
        break;
      case Kind::kHttp:
        decision.kinds.http = true;
        break;
      case Kind::kTcp:
        decision.kinds.tcp = true;
        break;
      case Kind::kSsh:
        decision.kinds.ssh = true;
        break;
    }
    if (decision.rule.empty()) decision.rule = rule.id;
  }
  if (decision.kinds.https && !plain_https) decision.must_read_requests = true;
  decision.allowed = decision.kinds.any();
  if (!decision.allowed) decision.reason = fmt::format("{} is not granted", target.Text());
  return decision;
}

Decision DecideAddress(std::span<const Rule> rules, const Target& target, Kind kind,
                       const IpAddress& address, int64_t now) {
  Decision decision;
  bool only_elsewhere = false;  // the host's own rule says where its addresses lie
  bool named = false;
  for (const Rule& rule : rules) {
    if (!InForce(rule, now) || !CoversPort(rule, target.port)) continue;
    const bool within = rule.range && HoldsAddress(rule, address);
    const bool of_host = !rule.host.empty() && HostMatches(rule.host, target.name);
    if (!rule.allow && within && (rule.host.empty() || of_host)) {
      decision.reason = Denied(rule, FormatEndpoint(address, target.port));
      decision.rule = rule.id;
      return decision;
    }
    if (!rule.allow || !rule.range) continue;
    // Of addresses alone: a rule about requests, or about another kind, does not let a name do more
    // there than it says itself.
    const bool as_much =
        rule.kind == Kind::kTcp || (rule.kind == kind && !rule.LooksIntoRequests());
    if ((rule.host.empty() && as_much) ||
        (of_host && (rule.kind == kind || rule.kind == Kind::kTcp)))
      named = named || within;
    if (of_host && !within) only_elsewhere = true;
  }
  // The machine itself has been granted by that very name.
  const bool ourselves = target.name == kHostOfSandbox;
  const char* use = ReservedUse(address);
  decision.allowed = named || (!only_elsewhere && (use == nullptr || ourselves));
  if (!decision.allowed)
    decision.reason = fmt::format("{} is {} ({}), which no rule grants", target.name,
                                  FormatIpAddress(address), use == nullptr ? "elsewhere" : use);
  return decision;
}

std::set<std::string> SecretsAt(std::span<const Rule> rules, const Target& target, int64_t now) {
  std::set<std::string> names;
  for (const Rule& rule : rules) {
    if (rule.secret && Covers(rule, target, now)) names.insert(rule.secret->name);
  }
  return names;
}

RequestDecision DecideRequest(std::span<const Rule> rules, const Target& target, Kind kind,
                              const Request& request, int64_t now) {
  RequestDecision decision;
  const bool plain = PathIsPlain(request.path);
  const std::string what = fmt::format("{} {} at {}", request.method, request.path, target.Text());
  for (const Rule& rule : rules) {
    if (!Covers(rule, target, now)) continue;
    decision.restricted |= !rule.methods.empty() || !rule.path_prefix.empty();
    // A denial covers ambiguous requests, a grant does not.
    const bool unclear = (!rule.path_prefix.empty() && (!plain || request.overrides_path)) ||
                         (!rule.methods.empty() && request.overrides_method);
    if (!rule.allow) {
      if (!unclear && !CoversRequest(rule, request)) continue;
      decision.reason = Denied(rule, what);
      decision.rule = rule.id;
      decision.with = nullptr;
      decision.secrets.clear();
      decision.allowed = false;
      return decision;
    }
    if (rule.kind != kind || unclear || !CoversRequest(rule, request)) continue;
    // The rule that says most about the request: it may carry a secret.
    const bool better = decision.with == nullptr ||
                        (rule.secret.has_value() && !decision.with->secret.has_value()) ||
                        (rule.secret.has_value() == decision.with->secret.has_value() &&
                         rule.path_prefix.size() > decision.with->path_prefix.size());
    if (better) decision.with = &rule;
    if (rule.secret) decision.secrets.push_back(*rule.secret);
  }
  decision.allowed = decision.with != nullptr;
  if (decision.allowed) {
    decision.rule = decision.with->id;
  } else {
    decision.reason = fmt::format("{} is not granted", what);
  }
  return decision;
}

bool PathIsBelow(std::string_view prefix, std::string_view path) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

bool PathIsPlain(std::string_view path) {
  if (!path.starts_with('/')) return false;
  for (size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c == '\\' || c == ';' || static_cast<unsigned char>(c) >= 0x7f || c <= ' ') return false;
    if (c == '/' && i + 1 < path.size() && path[i + 1] == '/') return false;
    if (c != '%') continue;
    if (i + 2 >= path.size() || HexDigit(path[i + 1]) < 0 || HexDigit(path[i + 2]) < 0)
      return false;
    const int code = HexDigit(path[i + 1]) << 4 | HexDigit(path[i + 2]);
    // . / \ ; % and control characters: decoded once more, it would be another path.
    if (code == '.' || code == '/' || code == '\\' || code == ';' || code == '%' || code < ' ' ||
        code == 0x7f)
      return false;
  }
  for (size_t at = 0; at != path.npos; at = path.find('/', at + 1)) {
    const std::string_view segment = path.substr(at + 1, path.find('/', at + 1) - at - 1);
    if (segment == "." || segment == "..") return false;
  }
  return IsUtf8(Decoded(path));  // %c0%ae is a dot to some
}

int64_t NextExpiry(std::span<const Rule> rules, int64_t now) {
  int64_t next = 0;
  for (const Rule& rule : rules) {
    if (rule.expires > now && (next == 0 || rule.expires < next)) next = rule.expires;
  }
  return next;
}

std::string AddressGrantText(const Target& target, Kind kind, const IpAddress& address,
                             std::string_view sandbox) {
  // A grant of these should take more than copying a line.
  const char* use = ReservedUse(address);
  if (use != nullptr && use == std::string_view("link-local"))
    return "; cloud machines hand out their credentials at such addresses (docs/network.md)";
  Rule rule;
  rule.kind = kind;
  rule.host = target.name;
  rule.range = IpRange{address, address.six ? 128 : 32};
  rule.first_port = rule.last_port = target.port;
  return fmt::format("; grant it with: cloche net {} allow {}", sandbox, FormatRule(rule));
}

std::string DenialText(const Target& target, std::string_view sandbox) {
  // Without a scheme it would mean the sandbox's own loopback, for which there is no rule.
  const std::string text = target.Text();
  return fmt::format("{0} is not granted to {1}; grant it with: cloche net {1} allow {2}{0}", text,
                     sandbox, ParseRule(text) ? "" : "tcp://");
}

}  // namespace cloche::egress
