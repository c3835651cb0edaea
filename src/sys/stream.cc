#include "sys/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cloche::sys {

int MakePipe(Fd& read_end, Fd& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  return 0;
}

int SetNonBlocking(int fd) {
  return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 ? -errno : 0;
}

long ReadSome(int fd, void* data, size_t size) {
  ssize_t got = read(fd, data, size);
  return got < 0 ? -errno : got;
}

bool ReadableNow(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, 0) == 1 && (wait.revents & POLLIN) != 0;
}

void Rewind(int fd) { lseek(fd, 0, SEEK_SET); }

void EndSending(int socket) { shutdown(socket, SHUT_WR); }

int SetWindowSize(int terminal, uint16_t rows, uint16_t columns) {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = columns;
  return ioctl(terminal, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

bool ExitedNormally(int wait_status) { return WIFEXITED(wait_status); }
int ExitCode(int wait_status) { return WEXITSTATUS(wait_status); }
int TermSignal(int wait_status) { return WTERMSIG(wait_status); }

}  // namespace cloche::sys
