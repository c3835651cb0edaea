#pragma once

#include <stdint.h>

#include "sys/fd.h"
#include "sys/netlink.h"

namespace cloche::sys {

// What leads out of a sandbox whose network namespace has nothing but `lo`: every TCP connection
// and every question for a name ends at one of our sockets in there.

int EnterNetworkOf(int pidfd);
// Of the namespace that a socket was made in. For when the process itself may not be looked at.
int EnterNetworkOfSocket(int socket);

// In the namespace we are in. Those of IPv6 are invalid where there is none.
struct BorderSockets {
  Fd tcp4, dns4, proxy4, tcp6, dns6;
};
int OpenBorderSockets(BorderSockets& sockets);

struct BorderPorts {
  uint16_t tcp4 = 0, dns4 = 0, tcp6 = 0, dns6 = 0;  // 0: no IPv6
};
BorderPorts PortsOf(const BorderSockets& sockets);

// The nf_tables batch: replaces what an earlier one left, all or nothing. With `report` what is
// refused is told to whoever opened a refusal log, ten times a second at most.
NetlinkMessages BorderRules(const BorderPorts& ports, bool report = false);
NetlinkMessages BorderRoute4(uint32_t loopback);
NetlinkMessages BorderRoute6(uint32_t loopback);
NetlinkMessages BorderAddress(int family, uint32_t loopback);

// Routes and rules, in force when it returns. On failure `failed` says which step it was.
// `refusals` is set where the kernel can report.
int CloseBorder(const BorderPorts& ports, Fd& refusals, const char*& failed);

// Connects to a port on the namespace's loopback, either family. A socket or -errno.
int ConnectToLoopback(uint16_t port);

}  // namespace cloche::sys
