#pragma once

#include <stddef.h>

#include <memory>
#include <vector>

#include "sys/fd.h"

namespace cloche::egress {

// Room for a piece of a flood.
struct Tub {
  explicit Tub(size_t& all) : count(all) { ++count; }
  ~Tub() { --count; }
  Tub(const Tub&) = delete;
  Tub& operator=(const Tub&) = delete;

  size_t& count;  // how many there are
  char bytes[1 << 20];
};

// What bytes are in on their way from socket to socket. In a pipe the kernel moves them, and we
// need no memory. But splice leaves them in the pages they came in; copied, a flood leaves in
// packets of half a megabyte (sys::CloseBorder), and that more than pays for the copy.
class Vessel {
 public:
  bool valid() const { return tub_ || in_.valid(); }
  bool large() const { return tub_ != nullptr; }
  long Fill(int socket, size_t most);                // bytes, 0 at the end, or -errno
  long Empty(int socket, size_t done, size_t left);  // after `done` of them have left

 private:
  friend class Vessels;
  sys::Fd out_, in_;
  std::unique_ptr<Tub> tub_;
};

// A connection has one only while something is under way.
class Vessels {
 public:
  Vessel Take(bool large);  // a pipe if there are too many large ones; invalid without descriptors
  void Return(Vessel vessel);  // empty

 private:
  size_t tubs_ = 0;  // how many there are
  std::vector<Vessel> idle_pipes_, idle_tubs_;
};

}  // namespace cloche::egress
