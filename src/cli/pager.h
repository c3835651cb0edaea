#pragma once

#include <sys/types.h>

#include <string_view>

namespace cloche::cli {

// Standard output through $PAGER (less) when it is a terminal; straight otherwise.
class Pager {
 public:
  Pager();
  Pager(const Pager&) = delete;
  ~Pager();  // waits until it was read
  void Write(std::string_view text);
  bool terminal() const { return terminal_; }

 private:
  bool terminal_;
  pid_t pid_ = -1;
  int fd_;
};

}  // namespace cloche::cli
