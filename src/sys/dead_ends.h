#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cloche::sys {

// How often programs in one network namespace tried to reach something unreachable: an address
// without a route, or (DNS servers are often at 127.0.0.53) a UDP port without a listener.
struct DeadEnds {
  uint64_t no_route = 0;
  uint64_t no_port = 0;
  bool operator==(const DeadEnds&) const = default;
};

DeadEnds ParseDeadEnds(std::string_view snmp);    // the text of /proc/net/snmp
std::optional<DeadEnds> ReadDeadEnds(pid_t pid);  // in that process's namespace; nullopt: unknown

}  // namespace cloche::sys
