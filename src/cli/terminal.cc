#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace cloche::cli {

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  if (tcgetattr(fd, &saved_) != 0) return;
  termios raw = saved_;
  cfmakeraw(&raw);
  changed_ = tcsetattr(fd, TCSADRAIN, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (changed_) tcsetattr(fd_, TCSADRAIN, &saved_);
}

WindowSize ReadWindowSize(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

bool InForeground(int fd) { return tcgetpgrp(fd) == getpgrp(); }

bool TakenByAnother(int fd) {
  termios now{};
  return tcgetattr(fd, &now) == 0 && (now.c_lflag & ICANON) == 0;
}

}  // namespace cloche::cli
