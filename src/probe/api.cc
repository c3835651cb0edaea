#include "probe/api.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace cloche::probe {

int ConnectTo(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) return -1;
  memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

int ServerOf(const std::string& socket_path) {
  const int fd = ConnectTo(socket_path);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) peer.pid = 0;
  if (fd >= 0) close(fd);
  return peer.pid;
}

Answer Post(const std::string& socket_path, const std::string& path, const nlohmann::json& body) {
  Answer answer;
  const int fd = ConnectTo(socket_path);
  if (fd < 0) return answer;
  const std::string text = body.dump();
  const std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
      path, text.size(), text);
  std::string reply;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    char buffer[16384];
    for (ssize_t count; (count = read(fd, buffer, sizeof buffer)) > 0;)
      reply.append(buffer, static_cast<size_t>(count));
  }
  close(fd);
  const size_t end = reply.find("\r\n\r\n");
  if (end == std::string::npos || sscanf(reply.c_str(), "HTTP/1.1 %d", &answer.status) != 1)
    return answer;
  answer.body = nlohmann::json::parse(reply.substr(end + 4), nullptr, false);
  return answer;
}

}  // namespace cloche::probe
