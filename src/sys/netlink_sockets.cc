#include "sys/netlink_sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sys/file.h"

namespace cloche::sys {
namespace {

// Parses /proc/PID/net/protocols:
// "NETLINK   1112     3      -1   NI ...": name, size, sockets
std::optional<long> ParseNetlinkSockets(std::string_view protocols) {
  constexpr std::string_view kName = "NETLINK ";
  while (!protocols.empty()) {
    std::string_view line = protocols.substr(0, protocols.find('\n'));
    protocols.remove_prefix(std::min(line.size() + 1, protocols.size()));
    if (!line.starts_with(kName)) continue;
    long size = 0, sockets = 0;
    const std::string fields(line.substr(kName.size()));
    if (sscanf(fields.c_str(), "%ld %ld", &size, &sockets) != 2) return std::nullopt;
    return sockets;
  }
  return std::nullopt;
}

}  // namespace

std::optional<NetlinkType> ReadNetlinkType(uint64_t argument) {
  constexpr uint32_t kTypeMask = 0xf;
  const auto type = static_cast<uint32_t>(argument);
  if ((type & ~(kTypeMask | SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0) return std::nullopt;
  return NetlinkType{static_cast<int32_t>(type & (kTypeMask | SOCK_NONBLOCK)),
                     (type & SOCK_CLOEXEC) != 0};
}

std::optional<long> CountNetlinkSockets(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/net/protocols", pid);
  std::string text;
  if (ReadFileAt(AT_FDCWD, path, text, 64 << 10) < 0) return std::nullopt;
  return ParseNetlinkSockets(text);
}

}  // namespace cloche::sys
