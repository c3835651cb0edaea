#include "sys/seccomp_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

namespace cloche::sys {

int ReceiveNotification(int listener, SeccompNotification& notification) {
  // The kernel writes its own struct size and refuses a buffer that is not zeroed.
  alignas(seccomp_notif) char buffer[sizeof(seccomp_notif) + 128];
  memset(buffer, 0, sizeof buffer);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, buffer) != 0) return -errno;
  seccomp_notif received;
  memcpy(&received, buffer, sizeof received);
  notification.id = received.id;
  notification.pid = received.pid;
  notification.number = received.data.nr;
  for (size_t i = 0; i < 6; i++) notification.arguments[i] = received.data.args[i];
  return 0;
}

int DenyNotification(int listener, uint64_t id, int error) {
  seccomp_notif_resp response{};
  response.id = id;
  response.error = error > 0 ? -error : -EPERM;  // 0 would tell the caller that it succeeded
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0 ? -errno : 0;
}

int ContinueNotification(int listener, uint64_t id) {
  seccomp_notif_resp response{};
  response.id = id;
  response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0 ? -errno : 0;
}

int SupplyDescriptor(int listener, uint64_t id, int fd, bool close_on_exec) {
  seccomp_notif_addfd given{};
  given.id = id;
  given.flags = SECCOMP_ADDFD_FLAG_SEND;
  given.srcfd = static_cast<uint32_t>(fd);
  given.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given) < 0 ? -errno : 0;
}

}  // namespace cloche::sys
