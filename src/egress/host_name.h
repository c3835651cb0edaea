#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::egress {

// The one form in which names are compared, looked up and dialled: lower case, no trailing dot,
// letters, digits, '-' and '_' in labels. Everything that two parsers could read differently is
// refused: numbers that libc takes for addresses, other bytes, empty labels. Names that are not
// ASCII must come as xn--.
Result<std::string> NormaliseHost(std::string_view text);

// `pattern` is a name, or "*." and a name: then every name below it, but not itself. Both normal.
bool HostMatches(std::string_view pattern, std::string_view name);

// The authority of a URL, a Host header or a CONNECT: NAME[:PORT], ADDRESS[:PORT] or
// [IPV6][:PORT]. No user, no blanks.
struct Authority {
  std::string host;  // a normal name, or an address as FormatIpAddress writes it
  bool is_address = false;
  uint16_t port = 0;  // 0: none was given
};
Result<Authority> ParseAuthority(std::string_view text);

// 1 to 65535 in decimal, without sign and leading zeros.
Result<uint16_t> ParsePort(std::string_view text);

// The name under which the machine itself is granted (host.cloche:5432).
inline constexpr std::string_view kHostOfSandbox = "host.cloche";

// As a rule's host: every name but kHostOfSandbox.
inline constexpr std::string_view kAnyHost = "*";

}  // namespace cloche::egress
