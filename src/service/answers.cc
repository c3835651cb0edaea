#include "service/answers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sys/fd.h"

namespace cloche::service {
namespace {

constexpr int kPatienceMs = 2000;
constexpr size_t kMostReply = 1 << 20;

sys::Fd ConnectTo(const sockaddr* where, socklen_t size) {
  sys::Fd socket(::socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.valid() && connect(socket.get(), where, size) < 0) socket.Reset();
  return socket;
}

sys::Fd Connect(const Address& address) {
  if (address.port == 0) {
    sockaddr_un file{};
    file.sun_family = AF_UNIX;
    if (address.socket.size() >= sizeof file.sun_path) return {};
    memcpy(file.sun_path, address.socket.data(), address.socket.size());
    return ConnectTo(reinterpret_cast<const sockaddr*>(&file), sizeof file);
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(address.port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (sys::Fd made = ConnectTo(reinterpret_cast<const sockaddr*>(&four), sizeof four); made.valid())
    return made;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(address.port);
  six.sin6_addr = in6addr_loopback;
  return ConnectTo(reinterpret_cast<const sockaddr*>(&six), sizeof six);
}

bool Send(int socket, const std::string& bytes) {
  return send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

// Receives until the other side closes, `whole` is satisfied, or the other side is silent for too
// long.
template <typename Whole>
std::string Receive(int socket, Whole whole) {
  std::string reply;
  while (reply.size() < kMostReply && !whole(reply)) {
    pollfd wait{socket, POLLIN, 0};
    if (poll(&wait, 1, kPatienceMs) <= 0) break;
    char buffer[16 << 10];
    const ssize_t got = recv(socket, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    reply.append(buffer, static_cast<size_t>(got));
  }
  return reply;
}

// A start-up packet for a user nobody has: any answer but "cannot connect now" (57P03) means it is
// up. It is a login that fails, as pg_isready's is.
bool PostgresServes(int socket) {
  static constexpr char kPacket[] =
      "\0\0\0\x20"
      "\0\3\0\0"
      "user\0cloche\0database\0x\0";
  static_assert(sizeof kPacket == 0x20);
  if (!Send(socket, std::string(kPacket, sizeof kPacket))) return false;
  const std::string reply = Receive(socket, [](const std::string& got) {
    if (got.size() < 5) return false;
    uint32_t size = 0;
    memcpy(&size, got.data() + 1, sizeof size);
    return got.size() > ntohl(size);
  });
  return !reply.empty() && reply.find(std::string("C57P03\0", 7)) == std::string::npos;
}

}  // namespace

Protocol ProtocolOf(const std::string& program) {
  const std::string name = program.substr(program.find_last_of('/') + 1);
  if (name == "postgres") return Protocol::kPostgres;
  // Debian's redis-server is another name of redis-check-rdb.
  if (name == "redis-server" || name == "valkey-server" || name == "redis-check-rdb")
    return Protocol::kRedis;
  return Protocol::kUnknown;
}

std::string AskRedis(const Address& address, const std::string& command) {
  const sys::Fd socket = Connect(address);
  if (!socket.valid() || !Send(socket.get(), command + "\r\nQUIT\r\n")) return "";
  return Receive(socket.get(), [](const std::string&) { return false; });
}

bool Answers(const Address& address, Protocol protocol) {
  if (protocol == Protocol::kRedis) {
    const std::string reply = AskRedis(address, "PING");
    return reply.starts_with("+PONG") || reply.starts_with("-NOAUTH") ||
           reply.starts_with("-DENIED") || reply.starts_with("-NOPERM");
  }
  const sys::Fd socket = Connect(address);
  if (!socket.valid()) return false;
  return protocol != Protocol::kPostgres || PostgresServes(socket.get());
}

}  // namespace cloche::service
