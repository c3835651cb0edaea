#include "egress/rule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "egress/host_name.h"

namespace cloche::egress {
namespace {

std::unexpected<Error> Bad(std::string_view text, std::string_view why) {
  return Fail(Code::kInvalid,
              fmt::format("rule \"{}\": {}", EscapeForTerminal(text.substr(0, 120)), why),
              "write it like api.example.com:443, https://api.example.com/v1, "
              "ssh://git.example.com, tcp://10.0.0.0/8:5432 or *.example.com");
}

uint16_t UsualPort(Kind kind) {
  switch (kind) {
    case Kind::kHttps:
      return 443;
    case Kind::kHttp:
      return 80;
    case Kind::kSsh:
      return 22;
    case Kind::kTcp:
      return 0;
  }
  return 0;
}

// Takes an address or a range off the front of `rest`. False: there is none.
Result<bool> TakeRange(std::string_view text, std::string_view& rest, Rule& rule) {
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == rest.npos) return Bad(text, "']' is missing");
    rule.range = ParseIpRange(rest.substr(1, end - 1));
    if (!rule.range) return Bad(text, "no address or range is in the brackets");
    rest.remove_prefix(end + 1);
    return true;
  }
  size_t end = std::min(rest.find_first_of(":/"), rest.size());
  const std::string_view host = rest.substr(0, end);
  if (ParseIpAddress(host)) {
    if (end < rest.size() && rest[end] == '/' && end + 1 < rest.size() && IsDigit(rest[end + 1])) {
      ++end;
      while (end < rest.size() && IsDigit(rest[end])) ++end;
    }
    rule.range = ParseIpRange(rest.substr(0, end));
    if (!rule.range) return Bad(text, "the range is none: want zeros below the prefix");
    rest.remove_prefix(end);
    return true;
  }
  return false;
}

// Takes the host off the front of `rest`.
Status TakeHost(std::string_view text, std::string_view& rest, Rule& rule) {
  ASSIGN_OR_RETURN(const bool address, TakeRange(text, rest, rule));
  if (address) return {};
  const size_t end = std::min(rest.find_first_of("=:/"), rest.size());
  const std::string_view host = rest.substr(0, end);
  if (host == kAnyHost) {
    rule.host = kAnyHost;
    rest.remove_prefix(end);
    return {};
  }
  const bool wild = host.starts_with("*.");
  const auto name = NormaliseHost(wild ? host.substr(2) : host);
  if (!name) return Bad(text, name.error().message);
  rule.host = wild ? "*." + *name : *name;
  rest.remove_prefix(end);
  if (!rest.starts_with('=')) return {};
  rest.remove_prefix(1);
  ASSIGN_OR_RETURN(const bool bound, TakeRange(text, rest, rule));
  if (!bound) return Bad(text, "want an address or a range after =");
  return {};
}

Status TakePorts(std::string_view text, std::string_view& rest, Rule& rule) {
  if (!rest.starts_with(':')) return {};
  const size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view ports = rest.substr(1, end - 1);
  const size_t dash = ports.find('-');
  const auto first = ParsePort(ports.substr(0, dash));
  const auto last = dash == ports.npos ? first : ParsePort(ports.substr(dash + 1));
  if (!first) return Bad(text, first.error().message);
  if (!last) return Bad(text, last.error().message);
  rule.first_port = *first;
  rule.last_port = *last;
  rest.remove_prefix(end);
  return {};
}

// Inside, these are the sandbox itself: a rule for them would never be asked for.
bool IsOwnLoopback(const Rule& rule) {
  const std::string_view host = rule.host;
  if (host == "localhost" || host.ends_with(".localhost") || host == "localhost.localdomain" ||
      host == "ip6-localhost" || host == "ip6-loopback")
    return true;
  if (!host.empty() || !rule.range) return false;
  // 0.0.0.0 and :: lead there, too.
  for (const char* own : {"127.0.0.0/8", "::1", "0.0.0.0", "::"})
    if (rule.range->bits >= ParseIpRange(own)->bits &&
        ParseIpRange(own)->Contains(rule.range->first))
      return true;
  return false;
}

}  // namespace

Result<Rule> ParseRule(std::string_view text) {
  Rule rule;
  std::string_view rest = text;
  if (const size_t blank = rest.find(' '); blank != rest.npos) {
    std::string_view methods = rest.substr(0, blank);
    rest.remove_prefix(blank + 1);
    while (true) {
      const size_t comma = methods.find(',');
      rule.methods.emplace_back(methods.substr(0, comma));
      if (comma == methods.npos) break;
      methods.remove_prefix(comma + 1);
    }
  }
  const size_t scheme = rest.find("://");
  if (scheme != rest.npos) {
    const auto kind = KindFromName(rest.substr(0, scheme));
    if (!kind) return Bad(text, "want https, http, ssh or tcp before ://");
    rule.kind = *kind;
    rest.remove_prefix(scheme + 3);
  }
  CLOCHE_TRY(TakeHost(text, rest, rule));
  if (scheme == rest.npos && rule.host == kHostOfSandbox) rule.kind = Kind::kTcp;
  rule.first_port = rule.last_port = UsualPort(rule.kind);
  if (rule.host == kAnyHost && !rest.starts_with(':'))
    return Bad(text, "every host is written with a port: *:443");
  CLOCHE_TRY(TakePorts(text, rest, rule));
  if (rule.first_port == 0) return Bad(text, "tcp needs a port");
  if (rest != "/") rule.path_prefix = rest;
  // With a scheme it is meant: a program may ask the proxy for it.
  if (scheme == rest.npos && IsOwnLoopback(rule))
    return Fail(
        Code::kInvalid,
        fmt::format("rule \"{}\": inside, that is the sandbox itself",
                    EscapeForTerminal(text.substr(0, 120))),
        fmt::format("for a service of this machine write {}:{}", kHostOfSandbox, rule.first_port));
  if (const Status fine = CheckRule(rule); !fine) return Bad(text, fine.error().message);
  return rule;
}

std::string FormatRule(const Rule& rule) {
  std::string text;
  if (!rule.methods.empty()) text = fmt::format("{} ", fmt::join(rule.methods, ","));
  text += fmt::format("{}://", KindName(rule.kind));
  text += rule.host;
  if (rule.range) {
    if (!rule.host.empty()) text += "=";
    const bool one = rule.range->bits == (rule.range->first.six ? 128 : 32);
    const std::string range = one ? FormatIpAddress(rule.range->first) : FormatIpRange(*rule.range);
    text += rule.range->first.six ? "[" + range + "]" : range;
  }
  if (rule.first_port != rule.last_port) {
    text += fmt::format(":{}-{}", rule.first_port, rule.last_port);
  } else if (rule.first_port != UsualPort(rule.kind) || rule.host == kAnyHost) {
    text += fmt::format(":{}", rule.first_port);
  }
  return text + rule.path_prefix;
}

}  // namespace cloche::egress
