#include "peer_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace cloche::bench {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool Listens(int port) {
  const sockaddr_in address = Loopback(port);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool yes = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return yes;
}

}  // namespace

int FreePort() {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("find a free port");
  close(fd);
  return ntohs(address.sin_port);
}

PeerProxy::PeerProxy(const Argv& argv, int port) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(null, fd);
    execv(words[0], words.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  for (int i = 0; i < 400; ++i) {
    if (Listens(port)) return;
    usleep(25'000);
  }
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  throw std::runtime_error(fmt::format("{} does not listen", argv[0]));
}

PeerProxy::~PeerProxy() {
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace cloche::bench
