#include "origin.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace cloche::bench {
namespace {

constexpr size_t kPiece = 1 << 20;
const std::string kZeros(kPiece, '0');

void Watch(int poller, int fd, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) throw std::runtime_error("watch a socket");
}

}  // namespace

struct Origin::Client {
  int fd;
  std::string request, head;
  size_t body = 0;    // still to send
  size_t upload = 0;  // of what was announced, still to come
  bool holding = false;
};

Origin::Origin() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("listen on loopback");
  port_ = ntohs(address.sin_port);
  poller_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  Watch(poller_, listener_, EPOLLIN);
  Watch(poller_, wake_, EPOLLIN | EPOLLET);
  thread_ = std::thread([this] { Serve(); });
}

Origin::~Origin() {
  over_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  for (const int fd : {listener_, poller_, wake_}) close(fd);
}

void Origin::Release() {
  released_ = true;
  eventfd_write(wake_, 1);
}

// Does everything that can be done for the client now.
void Origin::Answer(Client& client) {
  while (true) {
    while (!client.head.empty() || client.body > 0) {
      const bool first = !client.head.empty();
      const char* data = first ? client.head.data() : kZeros.data();
      const size_t size = first ? client.head.size() : std::min(client.body, kPiece);
      const ssize_t sent = send(client.fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) return;
      if (first) {
        client.head.erase(0, static_cast<size_t>(sent));
      } else {
        client.body -= static_cast<size_t>(sent);
      }
    }
    const size_t end = client.request.find("\r\n\r\n");
    if (end == std::string::npos) return;
    // "GET /N", or "GET http://host:port/N" by a proxy that passes it on like that.
    const size_t path = client.request.rfind('/', client.request.find(" HTTP/"));
    if (client.request.compare(path, 5, "/hold") == 0 && !released_) {
      if (!std::exchange(client.holding, true)) ++held_;
      return;
    }
    constexpr const char* kLength = "\r\nContent-Length: ";
    if (const size_t length = client.request.find(kLength); length < end) {
      client.upload = strtoul(client.request.c_str() + length + strlen(kLength), nullptr, 10);
      client.upload -= std::min(client.upload, client.request.size() - end - 4);
      client.request.erase(length);
      client.request += "\r\n\r\n";  // answered when all has come
      if (client.upload > 0) return;
      continue;
    }
    client.body = strtoul(client.request.c_str() + path + 1, nullptr, 10);
    client.head = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", client.body);
    if (client.body <= 16384) client.head += kZeros.substr(0, std::exchange(client.body, 0));
    client.request.erase(0, end + 4);
  }
}

void Origin::Serve() {
  std::map<int, std::unique_ptr<Client>> clients;
  epoll_event events[64];
  while (!over_) {
    const int count = epoll_wait(poller_, events, 64, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener_) {
        const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0) continue;
        const int yes = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        clients[client] = std::make_unique<Client>(Client{client, {}, {}});
        Watch(poller_, client, EPOLLIN | EPOLLOUT | EPOLLET);
        continue;
      }
      if (fd == wake_) {
        if (released_)
          for (auto& [other, client] : clients) Answer(*client);
        continue;
      }
      // A program that is just being started holds our descriptors until it executes. Descriptors
      // we closed meanwhile are still reported.
      const auto found = clients.find(fd);
      if (found == clients.end()) continue;
      Client& client = *found->second;
      static char buffer[1 << 18];
      ssize_t got;
      while ((got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
        const size_t part = std::min(client.upload, static_cast<size_t>(got));
        client.upload -= part;
        client.request.append(buffer + part, static_cast<size_t>(got) - part);
        if (client.upload == 0) Answer(client);
      }
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        epoll_ctl(poller_, EPOLL_CTL_DEL, fd, nullptr);
        close(fd);
        clients.erase(found);
      } else if (client.upload == 0) {
        Answer(client);
      }
    }
  }
  for (const auto& [fd, client] : clients) close(fd);
}

}  // namespace cloche::bench
