#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <optional>

namespace cloche::sys {

// The second argument of socket(2), as far as it matters to netlink.
struct NetlinkType {
  int32_t made = 0;  // with SOCK_NONBLOCK, if requested
  bool close_on_exec = false;
};
std::optional<NetlinkType> ReadNetlinkType(uint64_t argument);

// Counts the netlink sockets in a process's network namespace, including unbound ones and those in
// flight between processes.
std::optional<long> CountNetlinkSockets(pid_t pid);

}  // namespace cloche::sys
