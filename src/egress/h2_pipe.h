#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "egress/h2_message.h"

namespace cloche::egress {

// One direction of a stream: bytes that came and wait until there is room to send them. Flow
// control bounds them: the sender may continue when what it is owed is paid.
class H2Pipe {
 public:
  // `paid_for` bytes came, which have become `bytes`.
  void Put(std::string_view bytes, size_t paid_for) {
    bytes_ += bytes;
    owed_ += paid_for;
  }
  // Moves bytes to `data`; `paid` is what the sender may send again.
  size_t Take(char* data, size_t size, size_t& paid) {
    const size_t part = std::min(size, left());
    std::memcpy(data, bytes_.data() + taken_, part);
    taken_ += part;
    paid = left() == 0 ? owed_ : std::min(part, owed_);
    owed_ -= paid;
    if (left() == 0) {
      bytes_ = {};
      taken_ = 0;
    } else if (taken_ > bytes_.size() / 2) {
      bytes_.erase(0, taken_);
      taken_ = 0;
    }
    return part;
  }
  // Nobody wants it any more.
  size_t Drop() {
    bytes_ = {};
    taken_ = 0;
    return std::exchange(owed_, 0);
  }
  size_t left() const { return bytes_.size() - taken_; }
  size_t owed() const { return owed_; }

  bool ended = false;  // nothing more comes
  H2Fields trailers;

 private:
  std::string bytes_;
  size_t taken_ = 0, owed_ = 0;
};

}  // namespace cloche::egress
