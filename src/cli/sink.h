#pragma once

#include <string>
#include <string_view>

namespace cloche::cli {

// Bytes on their way to one of our standard streams. It never blocks, and never sets O_NONBLOCK,
// which would change the stream for everyone who shares it.
class Sink {
 public:
  explicit Sink(int fd);
  void Add(std::string_view bytes);
  void Flush();  // as much as fits now
  bool empty() const { return pending_.size() == written_; }
  size_t size() const { return pending_.size() - written_; }
  bool broken() const { return broken_; }  // nobody reads; everything is dropped from now on
  int fd() const { return fd_; }

 private:
  int fd_;
  bool never_blocks_;
  bool broken_ = false;
  std::string pending_;
  size_t written_ = 0;
};

// Two fds of one file, e.g. after 2>&1, where the order between them is visible.
bool SameFile(int a, int b);

}  // namespace cloche::cli
