#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ascii.h"

namespace cloche::egress {

// Decodes escapes once: %41, and \u0041, \x41, \/ and \n as in JSON and its kin. Other characters
// stand for themselves.
class EscapeReader {
 public:
  // Calls emit(byte) for what `c` completes: nothing, a byte, or all that was held back.
  template <typename Emit>
  void Feed(uint8_t c, Emit&& emit) {
    if (held_ == 0) {
      if (c != '%' && c != '\\') return emit(c);
      hold_[held_++] = c;
      return;
    }
    if (held_ == 1 && hold_[0] == '\\' && c != 'u' && c != 'x') {
      kind_ = '\\';
      held_ = 0;
      return emit(Simple(c));
    }
    const bool letter = held_ == 1 && hold_[0] == '\\';
    if (letter || HexDigit(c) >= 0) {
      hold_[held_++] = c;
      if (held_ == Length()) Complete(emit);
      return;
    }
    const size_t none = held_;
    held_ = 0;
    for (size_t i = 0; i < none; ++i) emit(hold_[i]);
    Feed(c, emit);
  }

  bool idle() const { return held_ == 0; }
  char kind() const { return kind_; }  // how the last one began: % or a backslash

 private:
  static uint8_t Simple(uint8_t c) {
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      default:
        return c;
    }
  }
  size_t Length() const { return hold_[0] == '%' ? 3 : held_ > 1 && hold_[1] == 'u' ? 6 : 4; }
  template <typename Emit>
  void Complete(Emit&& emit) {
    unsigned value = 0;
    for (size_t i = hold_[0] == '%' ? 1 : 2; i < held_; ++i)
      value = value << 4 | static_cast<unsigned>(HexDigit(hold_[i]));
    kind_ = static_cast<char>(hold_[0]);
    held_ = 0;
    emit(static_cast<uint8_t>(value < 256 ? value : 0));  // no decoy has such a character
  }

  std::array<uint8_t, 6> hold_{};
  size_t held_ = 0;
  char kind_ = '%';
};

}  // namespace cloche::egress
