#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/frames.h"
#include "sys/fd.h"

namespace cloche::daemon {

// Which bytes of a sequence belong to which stream, at about a byte per change of stream: even a
// command that switches after every byte costs no more than its output.
class StreamRuns {
 public:
  void Add(FrameType stream, uint64_t size);
  // visit(stream, size), in order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    FrameType stream = first_;
    for (size_t at = 0; at < closed_.size(); stream = Other(stream)) {
      uint64_t size = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(closed_[at++]);
        size |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) break;
      }
      visit(stream, size);
    }
    if (size_ > 0) visit(stream, size_);
  }
  size_t memory_bytes() const { return closed_.capacity(); }

 private:
  static FrameType Other(FrameType stream) {
    return stream == FrameType::kStdout ? FrameType::kStderr : FrameType::kStdout;
  }
  FrameType first_ = FrameType::kStdout, last_ = FrameType::kStdout;
  uint64_t size_ = 0;   // of the last run
  std::string closed_;  // sizes of earlier runs, seven bits a byte; streams alternate
};

// A command's output. Up to the limit everything is kept, beyond it the beginning and the end. All
// of it, up to a cap, also goes to a plain log file once it no longer fits into memory, so a flood
// costs neither memory nor disk.
class OutputKeep {
 public:
  // `reader` may read the log, too.
  OutputKeep(uint64_t limit, std::string log_path, uint32_t reader);

  // Returns how much of the front of `data` may be shown now. The rest waits: it may turn out to be
  // the end.
  size_t Add(FrameType stream, std::string_view data);
  // The part that is kept but not shown yet, as frames, for when the command has ended.
  std::string Held() const;
  // Everything that is kept, as frames.
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
  uint64_t log_cap_;
  std::string log_path_;
  uint32_t reader_;
  uint64_t total_ = 0, shown_ = 0, logged_ = 0;
  std::string memory_;                                  // the front, until it is spilled
  StreamRuns runs_;                                     // of everything shown and replayable
  std::deque<std::pair<FrameType, std::string>> held_;  // the last held_limit_ bytes
  uint64_t held_bytes_ = 0;
  sys::Fd log_;
};

}  // namespace cloche::daemon
