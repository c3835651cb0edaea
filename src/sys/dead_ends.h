#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cloche::sys {

// How often programs of one network namespace wanted to go where no way leads: to an address
// without a route, or (names are often asked for at 127.0.0.53) to a UDP port where nobody is.
struct DeadEnds {
  uint64_t no_route = 0;
  uint64_t no_port = 0;
  bool operator==(const DeadEnds&) const = default;
};

DeadEnds ParseDeadEnds(std::string_view snmp);    // the text of /proc/net/snmp
std::optional<DeadEnds> ReadDeadEnds(pid_t pid);  // of that process's; nothing: it cannot be read

}  // namespace cloche::sys
