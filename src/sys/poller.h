#pragma once

#include <stdint.h>

#include <span>

#include "sys/fd.h"

namespace cloche::sys {

// epoll, edge-triggered: an event means that something changed since the last EAGAIN.
class Poller {
 public:
  struct Event {
    uint64_t tag = 0;
    bool readable = false, writable = false;
    bool ended = false;  // what can be read now is the last
    bool gone = false;   // and nobody reads what we write
  };

  int Open();
  int Add(int fd, uint64_t tag);
  // Call before closing the descriptor: a listener is shared with its sender, so closing our copy
  // does not remove it.
  void Remove(int fd);
  int Wait(std::span<Event> events, int milliseconds);  // how many, or -errno

 private:
  Fd epoll_;
};

}  // namespace cloche::sys
