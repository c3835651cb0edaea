#include "cli/sink.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace cloche::cli {

Sink::Sink(int fd) : fd_(fd) {
  struct stat info {};
  never_blocks_ = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

void Sink::Add(std::string_view bytes) {
  if (!broken_) pending_.append(bytes);
}

void Sink::Flush() {
  while (!empty() && !broken_) {
    size_t count = size();
    if (!never_blocks_) {
      // Writable means room for PIPE_BUF bytes in a pipe.
      pollfd ready{fd_, POLLOUT, 0};
      if (poll(&ready, 1, 0) <= 0) break;
      count = std::min<size_t>(count, PIPE_BUF);
    }
    const ssize_t written = write(fd_, pending_.data() + written_, count);
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (written < 0) {
      broken_ = true;
      break;
    }
    written_ += static_cast<size_t>(written);
  }
  if (broken_ || empty()) {
    pending_.clear();
    written_ = 0;
  }
}

bool SameFile(int a, int b) {
  struct stat first {};
  struct stat second {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace cloche::cli
