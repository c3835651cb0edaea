#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe/probe.h"

namespace cloche::probe {
namespace {

Words Ports(const Stage& stage, Place) {
  Ears& ears = stage.ears();
  return {std::to_string(ears.tcp_port()), std::to_string(ears.udp_port())};
}

Words Sockets(const Stage&, Place) { return DaemonSockets(); }

const char* NoRoute(const Stage&) {
  return ReadAll("/proc/net/route").find("\t00000000\t") == std::string::npos
             ? "this machine itself has no default route"
             : nullptr;
}

int FreePort() {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof any;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)!bind(fd, reinterpret_cast<sockaddr*>(&any), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&any), &size);
  close(fd);
  return ntohs(any.sin_port);
}

bool CanConnect(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(port));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  close(fd);
  return connected;
}

Outcome Inbound(Stage& stage) {
  const int port = FreePort();
  const Words words = {std::to_string(port)};
  {
    Running control(stage.At(Place::kBare, "listen", words));
    if (!control.WaitForLine("ready") || !CanConnect(port)) return NoControl();
    control.Finish();
  }
  for (const Place place : {Place::kRun, Place::kExec, Place::kDirectory}) {
    Running attack(stage.At(place, "listen", words));
    if (!attack.WaitForLine("ready")) return DidNotRun(attack.Finish());
    if (CanConnect(port)) return Broken("a port opened inside is open on the host");
    const Ran ran = attack.Finish();
    if (!ran.Reported()) return DidNotRun(ran);
  }
  return Held();
}

constexpr Probe kNetwork[] = {
    {"NE-01", "a route to public, private, metadata and multicast addresses", "routes", nullptr,
     Place::kBare, NoRoute},
    {"NE-02", "services on the host's loopback, 12 spellings, TCP and UDP", "host-loopback", Ports},
    Scene("NE-21", "a port opened inside, asked for from the host", Inbound),
    {"NE-22", "Cloche's own control sockets", "path-sockets", Sockets},
    {"NE-25", "UDP, IPv6, multipath TCP, SCTP, SMC", "odd-protocols", Ports},
};

constexpr Promise kPromises[] = {{"nothing goes out and nothing comes in", kNetwork}};

}  // namespace

std::span<const Promise> NetworkPromises() { return kPromises; }

}  // namespace cloche::probe
