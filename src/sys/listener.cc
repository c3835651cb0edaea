#include "sys/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cloche::sys {

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
  size = sizeof address - 1;  // the last byte stays zero
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) < 0) return -errno;
  if (listens == 0 || address.sun_family != AF_UNIX || address.sun_path[0] != '/') return -EINVAL;
  if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0 || fcntl(socket, F_SETFL, O_NONBLOCK) < 0)
    return -errno;
  path = address.sun_path;
  return 0;
}

}  // namespace cloche::sys
