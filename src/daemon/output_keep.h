#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/frames.h"
#include "sys/fd.h"

namespace cloche::daemon {

// What a command wrote. Small output stays in memory; more goes to a log file of frames (in order
// of arrival); past the log's cap only the tail is kept. A flood costs neither memory nor disk.
class OutputKeep {
 public:
  OutputKeep(uint64_t limit, std::string log_path) : limit_(limit), log_path_(std::move(log_path)) {}

  // How much of `data` is within the limit, to be shown live.
  size_t Add(FrameType stream, std::string_view data);
  bool over() const { return limit_ != 0 && total_ > limit_; }
  uint64_t limit() const { return limit_; }
  uint64_t total() const { return total_; }
  uint64_t kept() const { return over() ? limit_ : total_; }
  std::string log_path() const { return log_.valid() ? log_path_ : ""; }
  // The last bytes that were not shown, as frames; empty unless over.
  std::string TailFrames() const;
  // Everything kept, as frames; when over, the end of it.
  std::string Frames() const;

 private:
  static constexpr uint64_t kMemory = 256 << 10;
  static constexpr uint64_t kTail = 64 << 10;
  uint64_t LogCap() const;
  uint64_t limit_;  // 0 = none
  std::string log_path_;
  uint64_t total_ = 0;
  uint64_t logged_ = 0;
  std::string memory_;  // frames, until they are spilled
  std::string tail_;    // bytes of the last stream chunk(s), when over
  FrameType tail_stream_ = FrameType::kStdout;
  sys::Fd log_;
};

}  // namespace cloche::daemon
