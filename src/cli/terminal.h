#pragma once

#include <termios.h>

#include "cli/request.h"

namespace cloche::cli {

// Raw mode for as long as this lives.
class RawTerminal {
 public:
  explicit RawTerminal(int fd);
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal();

 private:
  int fd_;
  bool changed_ = false;
  termios saved_{};
};

WindowSize ReadWindowSize(int fd);

// False for a background job, which the kernel would stop for touching its terminal.
bool InForeground(int fd);

// Somebody else (a pager at the end of the pipeline) reads single keys from this terminal.
bool TakenByAnother(int fd);

}  // namespace cloche::cli
