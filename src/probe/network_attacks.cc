#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe/attack.h"
#include "probe/dial.h"

namespace cloche::probe {
namespace {

// Words: the port that the host listens on with TCP, that of UDP, further addresses of the host.
void HostLoopback(Attempt& attempt) {
  Words spellings = {
      "127.0.0.1", "127.0.0.53", "127.1", "2130706433", "0x7f.1",           "0177.0.0.1",
      "0.0.0.0",   "0",          "::1",   "::",         "::ffff:127.0.0.1", "::ffff:0:0"};
  spellings.insert(spellings.end(), attempt.words.begin() + 2, attempt.words.end());
  for (const std::string& spelling : spellings) {
    if (!Dial(ParseAddress(spelling, atoi(attempt.words[0].c_str())), SOCK_STREAM, 0))
      attempt.Refused();
    // A datagram to nobody is not a success; the host counts what arrives.
    Dial(ParseAddress(spelling, atoi(attempt.words[1].c_str())), SOCK_DGRAM, 0);
  }
}

// Asks the kernel for a route and sends nothing: connecting a datagram socket does just that.
// Words: addresses.
void Routes(Attempt& attempt) {
  for (const std::string& outside : attempt.words) {
    const Address to = ParseAddress(outside, 53);
    const int fd = socket(to.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    attempt.Try(fmt::format("route to {}", outside),
                connect(fd, reinterpret_cast<const sockaddr*>(&to.bytes), to.size));
    close(fd);
  }
}

// Words: a port. A connection means that this is somebody else's loopback, or leads there.
void DialLoopback(Attempt& attempt) {
  const int port = atoi(attempt.words[0].c_str());
  for (const char* host : {"127.0.0.1", "::1", "0.0.0.0"})
    attempt.Try(fmt::format("connected to {} port {}", host, port),
                Dial(ParseAddress(host, port), SOCK_STREAM, 0) ? 0 : -1);
}

// Does what programs do with these variables: connects to what they name.
void Proxies(Attempt& attempt) {
  for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY",
                           "ALL_PROXY", "GIT_PROXY_COMMAND", "npm_config_proxy"}) {
    const char* value = getenv(name);
    const std::string text = value != nullptr ? value : "";
    const size_t colon = text.rfind(':'), slash = text.rfind('/', colon);
    if (slash == std::string::npos || colon == std::string::npos) continue;
    const std::string host = text.substr(slash + 1, colon - slash - 1);
    if (!Dial(ParseAddress(host, atoi(text.c_str() + colon + 1)), SOCK_STREAM, 0))
      attempt.Refused();
  }
}

// Words: TCP port, UDP port. Protocols that slip past rules about TCP.
void OddProtocols(Attempt& attempt) {
  constexpr int kSctp = 132, kUdpLite = 136, kMultipath = 262, kSmc = 256;
  for (const char* host : {"127.0.0.1", "::1"}) {
    const Address tcp = ParseAddress(host, atoi(attempt.words[0].c_str()));
    const Address udp = ParseAddress(host, atoi(attempt.words[1].c_str()));
    Dial(tcp, SOCK_STREAM, kMultipath);
    Dial(tcp, SOCK_STREAM, kSctp);
    Dial(tcp, SOCK_STREAM, kSmc);
    Dial(udp, SOCK_DGRAM, 0);
    Dial(udp, SOCK_DGRAM, kUdpLite);
    attempt.Refused();
  }
}

// Words: a port. The judge connects to it and counts how often that works.
void Listen(Attempt& attempt) {
  for (const char* any : {"0.0.0.0", "::"}) {
    const Address at = ParseAddress(any, atoi(attempt.words[0].c_str()));
    const int fd = socket(at.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at.bytes), at.size) == 0) listen(fd, 8);
  }
  attempt.ReadyAndHold();
}

constexpr Attack kAttacks[] = {
    {"host-loopback", HostLoopback}, {"routes", Routes},
    {"dial-loopback", DialLoopback}, {"proxies", Proxies},
    {"odd-protocols", OddProtocols}, {"listen", Listen},
};

}  // namespace

std::span<const Attack> NetworkAttacks() { return kAttacks; }

}  // namespace cloche::probe
