#include "probe/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace cloche::probe {

Address ParseAddress(const std::string& text, int port) {
  Address address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.bytes);
  auto& six = reinterpret_cast<sockaddr_in6&>(address.bytes);
  if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof six;
  } else if (inet_aton(text.c_str(), &four.sin_addr) != 0) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof four;
  }
  address.family = address.bytes.ss_family;
  return address;
}

int Connect(const Address& to, int type, int protocol) {
  const int fd = socket(to.family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
  if (fd < 0) return -1;
  int error = connect(fd, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd writable{fd, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (poll(&writable, 1, 2000) == 1) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return fd;
  close(fd);
  return -1;
}

bool Dial(const Address& to, int type, int protocol) {
  const int fd = Connect(to, type, protocol);
  if (fd < 0) return false;
  (void)!send(fd, "x", 1, MSG_NOSIGNAL);
  close(fd);
  return true;
}

}  // namespace cloche::probe
