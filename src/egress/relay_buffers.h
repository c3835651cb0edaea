#pragma once

#include <stddef.h>

#include <memory>
#include <vector>

#include "sys/fd.h"

namespace cloche::egress {

// Room for a piece of a flood.
struct LargeBuffer {
  explicit LargeBuffer(size_t& all) : count(all) { ++count; }
  ~LargeBuffer() { --count; }
  LargeBuffer(const LargeBuffer&) = delete;
  LargeBuffer& operator=(const LargeBuffer&) = delete;

  size_t& count;  // how many there are
  char bytes[1 << 20];
};

// Holds bytes on their way from socket to socket. In a pipe the kernel moves them, and we need no
// memory. But splice leaves them in the pages they came in; copied, a flood leaves in packets of
// half a megabyte (sys::CloseBorder), and that more than pays for the copy.
class RelayBuffer {
 public:
  bool valid() const { return large_ || in_.valid(); }
  bool large() const { return large_ != nullptr; }
  long Fill(int socket, size_t most);                // bytes, 0 at the end, or -errno
  long Empty(int socket, size_t done, size_t left);  // after `done` of them have left

 private:
  friend class RelayBuffers;
  sys::Fd out_, in_;
  std::unique_ptr<LargeBuffer> large_;
};

// A connection has one only while something is under way.
class RelayBuffers {
 public:
  RelayBuffer Take(
      bool large);  // a pipe if there are too many large ones; invalid without descriptors
  void Return(RelayBuffer buffer);  // empty

 private:
  size_t large_count_ = 0;  // how many there are
  std::vector<RelayBuffer> idle_pipes_, idle_large_;
};

}  // namespace cloche::egress
