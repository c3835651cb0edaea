#include "sys/message.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cloche::sys {

int MakeSocketPair(Fd& ours, Fd& theirs) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
  ours = Fd(pair[0]);
  theirs = Fd(pair[1]);
  return 0;
}

int ListenAt(const char* path, unsigned mode, Fd& listener) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
  memcpy(address.sun_path, path, strlen(path) + 1);
  listener = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return -errno;
  unlink(path);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
      chmod(path, mode) < 0 || listen(listener.get(), 512) < 0)
    return -errno;
  return 0;
}

int AdoptListener(int socket, std::string& path) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0) return -errno;
  sockaddr_un address{};
  size = sizeof address - 1;  // a byte stays zero
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) < 0) return -errno;
  if (listens == 0 || address.sun_family != AF_UNIX || address.sun_path[0] != '/') return -EINVAL;
  if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0 || fcntl(socket, F_SETFL, O_NONBLOCK) < 0)
    return -errno;
  path = address.sun_path;
  return 0;
}

void EndSending(int socket) { shutdown(socket, SHUT_WR); }

long SendMessage(int socket, const void* data, size_t size, std::span<const int> fds) {
  if (fds.size() > kMaxMessageFds) return -EMSGSIZE;
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    memset(control, 0, sizeof control);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
  for (;;) {
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

long ReceiveMessage(int socket, void* data, size_t size, std::span<int> fds, int& fd_count,
                    bool dont_wait) {
  fd_count = 0;
  iovec part{data, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received;
  do {
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (dont_wait ? MSG_DONTWAIT : 0));
  } while (received < 0 && errno == EINTR);
  if (received < 0) return -errno;

  bool refused = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      if (refused || static_cast<size_t>(fd_count) == fds.size()) {
        refused = true;
        close(fd);
      } else {
        fds[static_cast<size_t>(fd_count++)] = fd;
      }
    }
  }
  if (refused) {
    for (int i = 0; i < fd_count; ++i) close(fds[static_cast<size_t>(i)]);
    fd_count = 0;
    return -EMSGSIZE;
  }
  return received;
}

}  // namespace cloche::sys
