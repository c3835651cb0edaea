#pragma once

#include <stdint.h>

#include "sys/fd.h"
#include "sys/netlink.h"

namespace cloche::sys {

// The way out of a sandbox whose network namespace has only `lo`: every TCP connection and every
// DNS query ends at one of our sockets in there.

int EnterNetworkOf(int pidfd);
// Enters the namespace that a socket was made in, for when the process itself is not accessible.
int EnterNetworkOfSocket(int socket);

// In the current namespace. Those for IPv6 are invalid if there is none.
struct BorderSockets {
  Fd tcp4, dns4, proxy4, tcp6, dns6;
};
int OpenBorderSockets(BorderSockets& sockets);

struct BorderPorts {
  uint16_t tcp4 = 0, dns4 = 0, tcp6 = 0, dns6 = 0;  // 0: no IPv6
};
BorderPorts PortsOf(const BorderSockets& sockets);

// The nf_tables batch: replaces an earlier one, all or nothing. With `report`, refusals are
// reported to an open refusal log, at most ten per second.
NetlinkMessages BorderRules(const BorderPorts& ports, bool report = false);
NetlinkMessages BorderRoute4(uint32_t loopback);
NetlinkMessages BorderRoute6(uint32_t loopback);
NetlinkMessages BorderAddress(int family, uint32_t loopback);

// Installs routes and rules, in force when it returns. On failure `failed` names the step.
// `refusals` is set if the kernel can report them.
int CloseBorder(const BorderPorts& ports, Fd& refusals, const char*& failed);

// Connects to a port on the namespace's loopback, either family. A socket or -errno.
int ConnectToLoopback(uint16_t port);

}  // namespace cloche::sys
