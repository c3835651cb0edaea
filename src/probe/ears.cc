#include "probe/ears.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace cloche::probe {
namespace {

const char* TypeName(int type) {
  return type == SOCK_STREAM ? "stream" : type == SOCK_DGRAM ? "datagram" : "seqpacket";
}

}  // namespace

Ears::Ears(const std::string& token, const std::vector<std::string>& directories) {
  Loopback(SOCK_STREAM, tcp_port_);
  Loopback(SOCK_DGRAM, udp_port_);
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    for (const std::string& directory : directories)
      Unix(type, fmt::format("{}/{}-{}.sock", directory, token, TypeName(type)), false);
    Unix(type, fmt::format("{}-{}", token, TypeName(type)), true);
  }
  for (const std::string& directory : directories) {
    const std::string path = directory + "/" + token + ".fifo";
    if (mkfifo(path.c_str(), 0666) != 0) continue;
    paths_.push_back(path);
    ears_.push_back({open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC), false, path});
  }
}

Ears::~Ears() {
  for (const Ear& ear : ears_) close(ear.fd);
  for (const std::string& path : paths_) unlink(path.c_str());
}

void Ears::Loopback(int type, int& port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof four;
  int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&four), size) != 0) {
    close(fd);
    return;
  }
  getsockname(fd, reinterpret_cast<sockaddr*>(&four), &size);
  port = ntohs(four.sin_port);
  if (type == SOCK_STREAM) listen(fd, 128);
  ears_.push_back({fd, type == SOCK_STREAM, fmt::format("127.0.0.1 {} {}", TypeName(type), port)});
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = four.sin_port;
  six.sin6_addr = in6addr_loopback;
  fd = socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (bind(fd, reinterpret_cast<sockaddr*>(&six), sizeof six) != 0) {
    close(fd);
    return;
  }
  if (type == SOCK_STREAM) listen(fd, 128);
  ears_.push_back({fd, type == SOCK_STREAM, fmt::format("::1 {} {}", TypeName(type), port)});
}

void Ears::Unix(int type, const std::string& path, bool is_abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t skip = is_abstract ? 1 : 0;
  if (path.size() + 1 >= sizeof address.sun_path) return;
  memcpy(address.sun_path + skip, path.data(), path.size());
  const size_t size = offsetof(sockaddr_un, sun_path) + skip + path.size() + (is_abstract ? 0 : 1);
  const int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) != 0) {
    close(fd);
    return;
  }
  if (type != SOCK_DGRAM) listen(fd, 128);
  if (!is_abstract) chmod(path.c_str(), 0666);
  (is_abstract ? names_ : paths_).push_back(path);
  ears_.push_back({fd, type != SOCK_DGRAM, (is_abstract ? "@" : "") + path});
}

std::vector<std::string> Ears::Heard() {
  std::vector<std::string> heard;
  for (const Ear& ear : ears_) {
    int count = 0;
    char buffer[64];
    if (ear.accepts) {
      for (int peer; (peer = accept4(ear.fd, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ++count)
        close(peer);
    } else {
      while (read(ear.fd, buffer, sizeof buffer) > 0) ++count;
    }
    if (count > 0) heard.push_back(fmt::format("{} came to {}", count, ear.name));
  }
  return heard;
}

}  // namespace cloche::probe
