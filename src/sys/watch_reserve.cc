#include "sys/watch_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cloche::sys {
namespace {

constexpr int kHandfuls = 64, kInHandful = 16;
int handfuls[kHandfuls];  // epoll descriptors; closing one frees its watches
int held = 0, wanted = 0;

int Control(int epoll, int operation, int fd, epoll_event* event) {
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

// A watch belongs to a file and the descriptor number used to add it, and stays when that number is
// closed while the file is open.
bool TakeHandful(int file) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return false;
  int numbers[kInHandful];
  int count = 0;
  for (bool watched = true; watched && count < kInHandful; ++count) {
    numbers[count] = fcntl(file, F_DUPFD_CLOEXEC, 0);
    epoll_event nothing{};
    watched = Control(epoll, EPOLL_CTL_ADD, numbers[count], &nothing) == 0;
    if (!watched) {
      close(epoll);
      close(numbers[count]);
      break;
    }
  }
  for (int i = 0; i < count; ++i) close(numbers[i]);
  if (count < kInHandful) return false;
  handfuls[held++] = epoll;
  return true;
}

bool GiveBack() {
  if (held == 0) return false;
  close(handfuls[--held]);
  return true;
}

int SharedFile() {
  static const int file = eventfd(0, EFD_CLOEXEC);
  return file;
}

}  // namespace

void ReserveWatches() {
  wanted = kHandfuls;
  while (held < wanted && TakeHandful(SharedFile())) {
  }
}

void ForgetWatches() {
  wanted = 0;
  while (GiveBack()) {
  }
}

void RefillWatches() {
  if (held < wanted) TakeHandful(SharedFile());
}

}  // namespace cloche::sys

// Replaces libc's epoll_ctl: any code in any library that adds a watch can use the reserve.
extern "C" int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  for (;;) {
    const int result = cloche::sys::Control(epoll, operation, fd, event);
    if (result == 0 || errno != ENOSPC || !cloche::sys::GiveBack()) return result;
  }
}
