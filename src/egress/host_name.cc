#include "egress/host_name.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/ip_address.h"
#include "base/text.h"

namespace cloche::egress {
namespace {

constexpr size_t kLongestName = 253;
constexpr size_t kLongestLabel = 63;

bool IsLabelByte(char c) { return (c >= 'a' && c <= 'z') || IsDigit(c) || c == '-' || c == '_'; }

std::unexpected<Error> BadName(std::string_view text, std::string_view why) {
  return Fail(Code::kInvalid,
              fmt::format("host name \"{}\": {}", EscapeForTerminal(text.substr(0, 80)), why));
}

// Some parsers take every name that ends in a number for an address (0x7f.1, 2130706433, 127.1).
bool EndsInNumber(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view last = dot == name.npos ? name : name.substr(dot + 1);
  if (std::all_of(last.begin(), last.end(), IsDigit)) return true;
  return last.starts_with("0x") && std::all_of(last.begin() + 2, last.end(), [](char c) {
           return IsDigit(c) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

Result<std::string> NormaliseHost(std::string_view text) {
  std::string_view rest = text;
  if (rest.ends_with('.')) rest.remove_suffix(1);
  if (rest.empty()) return BadName(text, "it is empty");
  if (rest.size() > kLongestName) return BadName(text, "it is too long");
  std::string name(rest);
  size_t label = 0;
  for (size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] != '.') {
      char& c = name[i];
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (!IsLabelByte(c)) return BadName(text, "only letters, digits, '-', '_' and '.' are known");
      continue;
    }
    if (i == label) return BadName(text, "a label is empty");
    if (i - label > kLongestLabel) return BadName(text, "a label is too long");
    if (name[label] == '-' || name[i - 1] == '-')
      return BadName(text, "a label begins or ends with '-'");
    label = i + 1;
  }
  if (EndsInNumber(name)) return BadName(text, "it looks like an address");
  return name;
}

bool HostMatches(std::string_view pattern, std::string_view name) {
  if (pattern == kAnyHost) return name != kHostOfSandbox;
  if (!pattern.starts_with("*.")) return pattern == name;
  const std::string_view suffix = pattern.substr(1);  // with its dot
  return name.size() > suffix.size() && name.ends_with(suffix);
}

Result<uint16_t> ParsePort(std::string_view text) {
  uint32_t port = 0;
  const bool digits = !text.empty() && text.size() <= 5 && text[0] != '0' &&
                      std::all_of(text.begin(), text.end(), IsDigit);
  if (digits) {
    for (const char c : text) port = port * 10 + static_cast<uint32_t>(c - '0');
  }
  if (port == 0 || port > 65535)
    return Fail(Code::kInvalid,
                fmt::format("port \"{}\": want 1 to 65535", EscapeForTerminal(text.substr(0, 20))));
  return static_cast<uint16_t>(port);
}

Result<Authority> ParseAuthority(std::string_view text) {
  Authority authority;
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return BadName(text, "']' is missing");
    const auto address = ParseIpAddress(text.substr(1, end - 1));
    if (!address || text.substr(1, end - 1).find(':') == text.npos)
      return BadName(text, "no IPv6 address is in the brackets");
    authority.host = FormatIpAddress(*address);
    authority.is_address = true;
    const std::string_view rest = text.substr(end + 1);
    has_port = !rest.empty();
    if (has_port && rest[0] != ':') return BadName(text, "a port follows ']' or nothing does");
    port = has_port ? rest.substr(1) : rest;
  } else {
    const size_t colon = text.find(':');
    has_port = colon != text.npos;
    host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
    if (const auto address = ParseIpAddress(host)) {
      authority.host = FormatIpAddress(*address);
      authority.is_address = true;
    } else {
      ASSIGN_OR_RETURN(authority.host, NormaliseHost(host));
    }
  }
  if (has_port) {
    ASSIGN_OR_RETURN(authority.port, ParsePort(port));
  }
  return authority;
}

}  // namespace cloche::egress
