#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <optional>

namespace cloche::sys {

// The second argument of socket(2), as far as netlink knows it.
struct NetlinkType {
  int32_t made = 0;  // with SOCK_NONBLOCK, if it was asked for
  bool close_on_exec = false;
};
std::optional<NetlinkType> ReadNetlinkType(uint64_t argument);

// How many netlink sockets there are in the network namespace of a process, those that nobody has
// bound yet and those on their way between processes among them.
std::optional<long> CountNetlinkSockets(pid_t pid);

}  // namespace cloche::sys
