#include "daemon/output_keep.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace cloche::daemon {

uint64_t OutputKeep::LogCap() const {
  return std::max<uint64_t>(limit_ * 4, uint64_t{64} << 20);
}

size_t OutputKeep::Add(FrameType stream, std::string_view data) {
  uint64_t room = limit_ == 0 ? data.size() : limit_ > total_ ? limit_ - total_ : 0;
  size_t shown = std::min<uint64_t>(room, data.size());
  total_ += data.size();
  if (shown < data.size()) {
    tail_.append(data.substr(shown));
    tail_stream_ = stream;
    if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
  }
  std::string frame;
  AppendFrame(frame, stream, data);
  if (!log_.valid() && memory_.size() + frame.size() <= kMemory) {
    memory_ += frame;
    return shown;
  }
  if (!log_.valid() && !log_path_.empty()) {
    log_ = sys::Fd(open(log_path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (log_.valid() && write(log_.get(), memory_.data(), memory_.size()) > 0) {
      logged_ = memory_.size();
      memory_.clear();
    }
  }
  // A full disk costs the rest of the log, never the command.
  if (log_.valid() && logged_ + frame.size() <= LogCap()) {
    ssize_t written = write(log_.get(), frame.data(), frame.size());
    if (written == static_cast<ssize_t>(frame.size()))
      logged_ += frame.size();
    else if (written > 0 && ftruncate(log_.get(), static_cast<off_t>(logged_)) == 0)
      lseek(log_.get(), static_cast<off_t>(logged_), SEEK_SET);
  }
  return shown;
}

std::string OutputKeep::TailFrames() const {
  std::string frames;
  if (!tail_.empty()) AppendFrame(frames, tail_stream_, tail_);
  return frames;
}

std::string OutputKeep::Frames() const {
  if (!log_.valid()) return memory_;
  std::string frames(logged_, '\0');
  ssize_t got = pread(log_.get(), frames.data(), frames.size(), 0);
  frames.resize(got < 0 ? 0 : static_cast<size_t>(got));
  if (limit_ == 0 || frames.size() <= limit_) return frames;
  // Walk whole frames off the front until the rest fits.
  size_t at = 0;
  while (frames.size() - at > limit_ && at + kFrameHeader <= frames.size()) {
    unsigned char bytes[kFrameHeader];
    std::copy_n(frames.data() + at, kFrameHeader, bytes);
    FrameHead head;
    if (!ParseFrameHead(bytes, head)) break;
    at += kFrameHeader + head.length;
  }
  return frames.substr(std::min(at, frames.size()));
}

}  // namespace cloche::daemon
