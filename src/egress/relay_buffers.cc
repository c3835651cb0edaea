#include "egress/relay_buffers.h"

#include <algorithm>
#include <utility>

#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr size_t kPiece = 512 << 10;  // of what goes through a pipe
constexpr size_t kMostIdlePipes = 64;
constexpr size_t kMostLarge = 16;
constexpr size_t kMostIdleLarge = 2;

}  // namespace

long RelayBuffer::Fill(int socket, size_t most) {
  if (large_) return sys::ReceiveBytes(socket, large_->bytes, std::min(most, sizeof large_->bytes));
  return sys::MoveBytes(socket, in_.get(), std::min(most, kPiece));
}

long RelayBuffer::Empty(int socket, size_t done, size_t left) {
  if (large_) return sys::SendBytes(socket, large_->bytes + done, left);
  return sys::MoveBytes(out_.get(), socket, left);
}

RelayBuffer RelayBuffers::Take(bool large) {
  large = large && (!idle_large_.empty() || large_count_ < kMostLarge);
  std::vector<RelayBuffer>& idle = large ? idle_large_ : idle_pipes_;
  RelayBuffer buffer;
  if (!idle.empty()) {
    buffer = std::move(idle.back());
    idle.pop_back();
  } else if (large) {
    buffer.large_ = std::make_unique<LargeBuffer>(large_count_);
  } else if (sys::MakeWidePipe(buffer.out_, buffer.in_) < 0) {
    return {};
  }
  return buffer;
}

void RelayBuffers::Return(RelayBuffer buffer) {
  if (!buffer.valid()) return;
  std::vector<RelayBuffer>& idle = buffer.large() ? idle_large_ : idle_pipes_;
  if (idle.size() < (buffer.large() ? kMostIdleLarge : kMostIdlePipes))
    idle.push_back(std::move(buffer));
}

}  // namespace cloche::egress
