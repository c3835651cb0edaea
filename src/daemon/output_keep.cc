#include "daemon/output_keep.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "sys/access_list.h"

namespace cloche::daemon {
namespace {

constexpr uint64_t kMemory = 256 << 10;
constexpr uint64_t kMostHeld = 64 << 10;
constexpr uint64_t kLeastLogCap = 64 << 20, kMostLogCap = 256 << 20;

}  // namespace

void StreamRuns::Add(FrameType stream, uint64_t size) {
  if (size == 0) return;
  if (size_ == 0) first_ = last_ = stream;
  if (stream != last_) {
    for (; size_ >= 0x80; size_ >>= 7) closed_.push_back(static_cast<char>(size_ | 0x80));
    closed_.push_back(static_cast<char>(size_));
    size_ = 0;
    last_ = stream;
  }
  size_ += size;
}

OutputKeep::OutputKeep(uint64_t limit, std::string log_path, uint32_t reader)
    : limit_(limit),
      held_limit_(std::min(kMostHeld, limit / 2)),
      log_cap_(std::clamp(std::min(limit, kMostLogCap) * 4, kLeastLogCap, kMostLogCap)),
      log_path_(std::move(log_path)),
      reader_(reader) {}

size_t OutputKeep::Add(FrameType stream, std::string_view data) {
  total_ += data.size();
  Log(data);
  uint64_t room =
      limit_ == 0 ? data.size() : limit_ - held_limit_ - std::min(shown_, limit_ - held_limit_);
  size_t shown = held_.empty() ? std::min<uint64_t>(room, data.size()) : 0;
  shown_ += shown;
  if (shown_ <= log_cap_) runs_.Add(stream, shown);
  if (shown < data.size()) Hold(stream, data.substr(shown));
  return shown;
}

void OutputKeep::Hold(FrameType stream, std::string_view data) {
  held_.emplace_back(stream, data);
  held_bytes_ += data.size();
  while (held_bytes_ > held_limit_) {
    std::string& first = held_.front().second;
    size_t drop = std::min<uint64_t>(first.size(), held_bytes_ - held_limit_);
    held_bytes_ -= drop;
    if (drop == first.size())
      held_.pop_front();
    else
      first.erase(0, drop);
  }
}

void OutputKeep::Log(std::string_view data) {
  if (!log_.valid() && memory_.size() + data.size() <= kMemory) {
    memory_ += data;
    return;
  }
  auto append = [&](std::string_view bytes) {
    if (!log_.valid() || logged_ + bytes.size() > log_cap_) return;
    // A full disk loses the rest of the log, but does not affect the command.
    ssize_t written = pwrite(log_.get(), bytes.data(), bytes.size(), static_cast<off_t>(logged_));
    if (written > 0) logged_ += static_cast<uint64_t>(written);
  };
  if (!log_.valid()) {
    log_ = sys::Fd(open(log_path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (log_.valid() && reader_ != getuid()) sys::LetRead(log_.get(), reader_);
    append(memory_);
    if (log_.valid()) memory_.clear();
  }
  append(data);
}

std::string OutputKeep::Held() const {
  std::string frames;
  for (const auto& [stream, data] : held_) AppendFrame(frames, stream, data);
  return frames;
}

std::string OutputKeep::Frames() const {
  std::string shown = memory_.substr(0, shown_);
  if (log_.valid()) {
    shown.resize(std::min(shown_, logged_));
    ssize_t got = pread(log_.get(), shown.data(), shown.size(), 0);
    shown.resize(got < 0 ? 0 : static_cast<size_t>(got));
  }
  std::string frames;
  size_t at = 0;
  runs_.ForEach([&](FrameType stream, uint64_t size) {
    for (uint64_t left = size; left > 0 && at < shown.size();) {
      size_t part = std::min({left, static_cast<uint64_t>(kMaxFramePayload),
                              static_cast<uint64_t>(shown.size() - at)});
      AppendFrame(frames, stream, std::string_view(shown).substr(at, part));
      at += part;
      left -= part;
    }
  });
  return frames + Held();
}

}  // namespace cloche::daemon
