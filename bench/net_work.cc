#include "net_work.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "series.h"

namespace cloche::bench {
namespace {

constexpr int kConnections = 16;

void Need(bool fine, const std::string& what) {
  if (!fine) throw std::runtime_error(fmt::format("{}: {}", what, strerror(errno)));
}

// "ADDRESS", or "NAME@ADDRESS": this program is static and cannot ask for names.
class Server {
 public:
  Server(const std::string& host, const std::string& port)
      : name_(host.substr(0, host.find('@')) + ":" + port) {
    const std::string address = host.substr(host.find('@') + 1);
    address_.sin_family = AF_INET;
    address_.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
    if (inet_pton(AF_INET, address.c_str(), &address_.sin_addr) != 1)
      throw std::runtime_error("no address: " + address);
  }

  int Connect() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* address = reinterpret_cast<const sockaddr*>(&address_);
    Need(fd >= 0 && connect(fd, address, sizeof address_) == 0, "connect to " + name_);
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
  }
  void Ask(int fd, const std::string& path) const {
    const std::string text = fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", path, name_);
    Need(send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()),
         "send");
  }
  // Text, as people send it.
  void Send(int fd, size_t bytes) const {
    static const std::string piece = [] {
      std::string text;
      for (unsigned i = 1; text.size() < 1 << 20; i = i * 1103515245 + 12345)
        text += static_cast<char>(i >> 16 & 15 ? 'A' + (i >> 16) % 58 : '\n');
      return text;
    }();
    const std::string head =
        fmt::format("POST /1 HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n", name_, bytes);
    Need(send(fd, head.data(), head.size(), MSG_NOSIGNAL) > 0, "send");
    while (bytes > 0) {
      const ssize_t sent = send(fd, piece.data(), std::min(bytes, piece.size()), MSG_NOSIGNAL);
      Need(sent > 0, "send");
      bytes -= static_cast<size_t>(sent);
    }
  }

 private:
  std::string name_;
  sockaddr_in address_{};
};

// Reads one answer of HTTP/1.1 with a length; nothing must come behind it. Throws if it is no 200.
class Answer {
 public:
  // False: there is more to come.
  bool Take(const char* data, size_t size) {
    if (left_ == SIZE_MAX) {
      head_.append(data, size);
      const size_t end = head_.find("\r\n\r\n");
      if (end == head_.npos) return false;
      if (!head_.starts_with("HTTP/1.1 200") && !head_.starts_with("HTTP/1.0 200"))
        throw std::runtime_error("the answer is " + head_.substr(0, 200));
      const char* length = strcasestr(head_.c_str(), "\r\ncontent-length:");
      if (!length) throw std::runtime_error("the answer has no length");
      size = head_.size() - end - 4;
      left_ = strtoul(length + 17, nullptr, 10);
      closes_ = strcasestr(head_.c_str(), "connection: close") != nullptr ||
                head_.starts_with("HTTP/1.0");
    }
    left_ -= std::min(size, left_);
    return left_ == 0;
  }
  bool begun() const { return !head_.empty(); }
  bool closes() const { return closes_; }

 private:
  std::string head_;
  size_t left_ = SIZE_MAX;
  bool closes_ = false;
};

void ReadAnswer(int fd) {
  static char buffer[1 << 20];
  Answer answer;
  while (true) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    Need(got > 0, "the connection ended");
    if (answer.Take(buffer, static_cast<size_t>(got))) return;
  }
}

double Download(const Server& server, const std::string& bytes) {
  const int fd = server.Connect();
  const Stopwatch watch;
  server.Ask(fd, "/" + bytes);
  ReadAnswer(fd);
  const double ms = watch.Ms();
  close(fd);
  return ms;
}

double Upload(const Server& server, size_t bytes) {
  const int fd = server.Connect();
  const Stopwatch watch;
  server.Send(fd, bytes);
  ReadAnswer(fd);
  const double ms = watch.Ms();
  close(fd);
  return ms;
}

double Connects(const Server& server, int count, const std::string& path) {
  Series series;
  for (int i = 0; i < count; ++i) {
    const Stopwatch watch;
    const int fd = server.Connect();
    server.Ask(fd, path);
    ReadAnswer(fd);
    series.Add(watch.Ms());
    close(fd);
  }
  return series.Median();
}

double Requests(const Server& server, int count, const std::string& path) {
  pollfd fds[kConnections] = {};
  Answer answers[kConnections];
  const Stopwatch watch;
  int asked = 0;
  for (pollfd& each : fds) {
    each = {server.Connect(), POLLIN, 0};
    server.Ask(each.fd, path);
    ++asked;
  }
  for (int answered = 0; answered < count;) {
    Need(poll(fds, kConnections, -1) > 0, "poll");
    for (int i = 0; i < kConnections; ++i) {
      if (fds[i].revents == 0) continue;
      char buffer[16384];
      const ssize_t got = recv(fds[i].fd, buffer, sizeof buffer, 0);
      if (got <= 0 && answers[i].begun()) throw std::runtime_error("the connection ended");
      if (got <= 0) {  // some proxies close without a word: asked again
        close(fds[i].fd);
        fds[i].fd = server.Connect();
        server.Ask(fds[i].fd, path);
        continue;
      }
      if (!answers[i].Take(buffer, static_cast<size_t>(got))) continue;
      ++answered;
      if (answers[i].closes()) {
        close(fds[i].fd);
        fds[i].fd = asked < count ? server.Connect() : -1;
      }
      answers[i] = {};
      if (asked < count) {
        server.Ask(fds[i].fd, path);
        ++asked;
      }
    }
  }
  for (const pollfd& each : fds)
    if (each.fd >= 0) close(each.fd);
  return watch.Ms();
}

double Hold(const Server& server, int count) {
  const Stopwatch watch;
  std::vector<int> fds;
  for (int i = 0; i < count; ++i) {
    fds.push_back(server.Connect());
    server.Ask(fds.back(), "/hold");
  }
  for (const int fd : fds) {
    ReadAnswer(fd);
    close(fd);
  }
  return watch.Ms();
}

}  // namespace

double DoNetWork(const std::vector<std::string>& words) {
  if (words.size() < 4) throw std::runtime_error("net: what, host, port, how much");
  const Server server(words[1], words[2]);
  const int count = std::stoi(words[3]);
  if (words[0] == "download") return Download(server, words[3]);
  if (words[0] == "upload") return Upload(server, std::stoul(words[3]));
  if (words[0] == "connect") return Connects(server, count, words.at(4));
  if (words[0] == "requests") return Requests(server, count, words.at(4));
  if (words[0] == "hold") return Hold(server, count);
  throw std::runtime_error("no such work: " + words[0]);
}

}  // namespace cloche::bench
