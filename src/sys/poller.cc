#include "sys/poller.h"

#include <errno.h>
#include <sys/epoll.h>

#include <algorithm>

namespace cloche::sys {

int Poller::Open() {
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  return epoll_.valid() ? 0 : -errno;
}

int Poller::Add(int fd, uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = tag;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void Poller::Remove(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

int Poller::Wait(std::span<Event> events, int milliseconds) {
  epoll_event ready[256];
  const int most = static_cast<int>(std::min(events.size(), std::size(ready)));
  const int count = epoll_wait(epoll_.get(), ready, most, milliseconds);
  if (count < 0) return -errno;
  for (int i = 0; i < count; ++i) {
    const uint32_t what = ready[i].events;
    const bool gone = (what & (EPOLLERR | EPOLLHUP)) != 0;
    events[static_cast<size_t>(i)] = {
        ready[i].data.u64, gone || (what & (EPOLLIN | EPOLLRDHUP)) != 0,
        gone || (what & EPOLLOUT) != 0, gone || (what & EPOLLRDHUP) != 0, gone};
  }
  return count;
}

}  // namespace cloche::sys
