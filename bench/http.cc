#include "http.h"

#include <fmt/core.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace cloche::bench {

Connection::Connection(const std::string& socket_path) : socket_path_(socket_path) { Connect(); }

void Connection::Connect() {
  if (fd_ >= 0) close(fd_);
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path_.size() >= sizeof address.sun_path)
    throw std::runtime_error("socket path too long");
  memcpy(address.sun_path, socket_path_.data(), socket_path_.size());
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd_);
    throw std::runtime_error(fmt::format("connect to {}: {}", socket_path_, strerror(errno)));
  }
}

// The end of the connection is the end of such an answer.
std::string Connection::ReadChunks(std::string answer, size_t head) {
  char buffer[65536];
  for (ssize_t count; (count = recv(fd_, buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(count));
  Connect();
  std::string content;
  for (size_t at = head + 4; at < answer.size();) {
    const size_t size = std::stoul(answer.substr(at, 16), nullptr, 16);
    if (size == 0) return content;
    at = answer.find("\r\n", at) + 2;
    content.append(answer, at, size);
    at += size + 2;
  }
  throw std::runtime_error("read answer: it has no end");
}

Connection::~Connection() { close(fd_); }

void Connection::Forget(const std::string& sandbox) noexcept {
  try {
    Call("DELETE", "/v1/sandboxes/" + sandbox);
  } catch (const std::exception& error) {
    fprintf(stderr, "cloche-bench: %s stays: %s\n", sandbox.c_str(), error.what());
  }
}

nlohmann::json Connection::Call(const std::string& method, const std::string& target,
                                const nlohmann::json& body) {
  const std::string text = body.is_null() ? "" : body.dump();
  const std::string request =
      fmt::format("{} {} HTTP/1.1\r\nHost: cloche\r\nContent-Length: {}\r\n\r\n{}", method, target,
                  text.size(), text);
  for (size_t sent = 0; sent < request.size();) {
    const ssize_t count = send(fd_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) throw std::runtime_error("send to cloched: " + std::string(strerror(errno)));
    sent += static_cast<size_t>(count);
  }
  std::string answer;
  size_t head = std::string::npos;
  size_t whole = std::string::npos;
  char buffer[16384];
  while (answer.size() < whole) {
    const ssize_t count = recv(fd_, buffer, sizeof buffer, 0);
    if (count <= 0) throw std::runtime_error(fmt::format("{} {}: cloched hung up", method, target));
    answer.append(buffer, static_cast<size_t>(count));
    if (head != std::string::npos || (head = answer.find("\r\n\r\n")) == std::string::npos)
      continue;
    const size_t length = answer.find("Content-Length: ");
    if (length == std::string::npos || length > head) break;
    whole = head + 4 + std::stoul(answer.substr(length + 16));
  }
  const std::string content =
      whole == std::string::npos ? ReadChunks(answer, head) : answer.substr(head + 4);
  if (answer.compare(9, 1, "2") != 0)
    throw std::runtime_error(fmt::format("{} {}: {}", method, target, content));
  return nlohmann::json::parse(content);
}

}  // namespace cloche::bench
