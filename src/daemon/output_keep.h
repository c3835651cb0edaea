#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/frames.h"
#include "sys/fd.h"

namespace cloche::daemon {

// What a command wrote. Up to the limit everything is kept; beyond it the beginning and the end
// are. All of it also goes to a plain log file once it no longer fits in memory, up to a cap: a
// flood costs neither memory nor disk.
class OutputKeep {
 public:
  // `reader` may read the log too.
  OutputKeep(uint64_t limit, std::string log_path, uint32_t reader);

  // How much of the front of `data` may be shown now. The rest waits: it may turn out to be the
  // end.
  size_t Add(FrameType stream, std::string_view data);
  // What was not shown yet and is kept, as frames, for the moment when the command ended.
  std::string Held() const;
  // All that is kept, as frames.
  std::string Frames() const;

  bool over() const { return limit_ != 0 && total_ > limit_; }
  uint64_t limit() const { return limit_; }
  uint64_t total() const { return total_; }
  uint64_t kept() const { return over() ? limit_ : total_; }
  std::string log_path() const { return log_.valid() ? log_path_ : ""; }

 private:
  void Log(std::string_view data);
  void Hold(FrameType stream, std::string_view data);

  uint64_t limit_;  // 0 = none
  uint64_t held_limit_;
  std::string log_path_;
  uint32_t reader_;
  uint64_t total_ = 0, shown_ = 0, logged_ = 0;
  std::string memory_;                                  // the front of it, until it is spilled
  std::vector<std::pair<FrameType, uint64_t>> runs_;    // which stream, how many bytes: all shown
  std::deque<std::pair<FrameType, std::string>> held_;  // the last held_limit_ bytes
  uint64_t held_bytes_ = 0;
  sys::Fd log_;
};

}  // namespace cloche::daemon
