#include "sys/inet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cloche::sys {
namespace {

constexpr int kOriginalDestination = 80;  // SO_ORIGINAL_DST, and IP6T_SO_ORIGINAL_DST
constexpr int kWidePipe = 512 << 10;
constexpr int kSilenceSeconds = 5;  // then a peer is asked whether it is still there

socklen_t ToKernel(const Endpoint& endpoint, sockaddr_storage& storage) {
  memset(&storage, 0, sizeof storage);
  if (endpoint.address.six) {
    auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(endpoint.port);
    memcpy(&six->sin6_addr, endpoint.address.bytes.data(), 16);
    return sizeof *six;
  }
  auto* four = reinterpret_cast<sockaddr_in*>(&storage);
  four->sin_family = AF_INET;
  four->sin_port = htons(endpoint.port);
  memcpy(&four->sin_addr, endpoint.address.bytes.data(), 4);
  return sizeof *four;
}

bool FromKernel(const sockaddr_storage& storage, Endpoint& endpoint) {
  if (storage.ss_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&storage);
    endpoint.address = FromBytes16(&six->sin6_addr);
    endpoint.port = ntohs(six->sin6_port);
    return true;
  }
  if (storage.ss_family != AF_INET) return false;
  const auto* four = reinterpret_cast<const sockaddr_in*>(&storage);
  endpoint.address = FromBytes4(&four->sin_addr);
  endpoint.port = ntohs(four->sin_port);
  return true;
}

long Outcome(ssize_t result) { return result < 0 ? -errno : static_cast<long>(result); }

}  // namespace

int AcceptConnection(int listener, Fd& connection, Endpoint& from) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  connection = Fd(accept4(listener, reinterpret_cast<sockaddr*>(&storage), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection.valid()) return -errno;
  FromKernel(storage, from);
  return 0;
}

int OriginalDestination(int connection, bool six, Endpoint& destination) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockopt(connection, six ? SOL_IPV6 : SOL_IP, kOriginalDestination, &storage, &size) < 0)
    return -errno;
  return FromKernel(storage, destination) ? 0 : -EINVAL;
}

int LocalEnd(int socket, Endpoint& end) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) < 0) return -errno;
  return FromKernel(storage, end) ? 0 : -EINVAL;
}

int StartConnect(const Endpoint& to, Fd& connection) {
  sockaddr_storage storage;
  const socklen_t size = ToKernel(to, storage);
  connection = Fd(socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!connection.valid()) return -errno;
  const int result = connect(connection.get(), reinterpret_cast<sockaddr*>(&storage), size);
  return result < 0 && errno != EINPROGRESS ? -errno : 0;
}

int ConnectResult(int connection) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
  return -error;
}

int ConnectDatagram(const Endpoint& to, Fd& datagram) {
  sockaddr_storage storage;
  const socklen_t size = ToKernel(to, storage);
  datagram = Fd(socket(storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!datagram.valid()) return -errno;
  return connect(datagram.get(), reinterpret_cast<sockaddr*>(&storage), size) < 0 ? -errno : 0;
}

long ReceiveBytes(int socket, void* data, size_t size) {
  return Outcome(recv(socket, data, size, 0));
}

long SendBytes(int socket, const void* data, size_t size) {
  return Outcome(send(socket, data, size, MSG_NOSIGNAL));
}

uint16_t Sender::Port() const {
  sockaddr_storage storage;
  static_assert(sizeof storage == sizeof name);
  memcpy(&storage, name, sizeof storage);
  Endpoint endpoint;
  return FromKernel(storage, endpoint) ? endpoint.port : uint16_t{0};
}

long ReceiveDatagram(int socket, void* data, size_t size, Sender& from) {
  socklen_t length = sizeof from.name;
  memset(from.name, 0, sizeof from.name);
  const long got = Outcome(
      recvfrom(socket, data, size, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(from.name), &length));
  from.size = length;
  return got;
}

long SendDatagram(int socket, const void* data, size_t size, const Sender& to) {
  return Outcome(sendto(socket, data, size, MSG_DONTWAIT | MSG_NOSIGNAL,
                        reinterpret_cast<const sockaddr*>(to.name), to.size));
}

int MakeWidePipe(Fd& read_end, Fd& write_end) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) return -errno;
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  fcntl(ends[1], F_SETPIPE_SZ, kWidePipe);  // a small one will do, too
  return 0;
}

long MoveBytes(int from, int to, size_t most) {
  return Outcome(splice(from, nullptr, to, nullptr, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
}

void WakeFor(int socket, int bytes) {
  setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

void ResetOnClose(int socket) {
  const linger now{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void GiveUpAfter(int socket, unsigned milliseconds) {
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

void SendWithoutDelay(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void AskIfAlive(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kSilenceSeconds, sizeof kSilenceSeconds);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kSilenceSeconds, sizeof kSilenceSeconds);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

}  // namespace cloche::sys
