#include "sys/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cloche::sys {

int MakeSocketPair(Fd& ours, Fd& theirs) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
  ours = Fd(pair[0]);
  theirs = Fd(pair[1]);
  return 0;
}

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
