#include "egress/vessels.h"

#include <algorithm>
#include <utility>

#include "sys/inet.h"

namespace cloche::egress {
namespace {

constexpr size_t kPiece = 512 << 10;  // of what goes through a pipe
constexpr size_t kMostIdlePipes = 64;
constexpr size_t kMostTubs = 16;
constexpr size_t kMostIdleTubs = 2;

}  // namespace

long Vessel::Fill(int socket, size_t most) {
  if (tub_) return sys::ReceiveBytes(socket, tub_->bytes, std::min(most, sizeof tub_->bytes));
  return sys::MoveBytes(socket, in_.get(), std::min(most, kPiece));
}

long Vessel::Empty(int socket, size_t done, size_t left) {
  if (tub_) return sys::SendBytes(socket, tub_->bytes + done, left);
  return sys::MoveBytes(out_.get(), socket, left);
}

Vessel Vessels::Take(bool large) {
  large = large && (!idle_tubs_.empty() || tubs_ < kMostTubs);
  std::vector<Vessel>& idle = large ? idle_tubs_ : idle_pipes_;
  Vessel vessel;
  if (!idle.empty()) {
    vessel = std::move(idle.back());
    idle.pop_back();
  } else if (large) {
    vessel.tub_ = std::make_unique<Tub>(tubs_);
  } else if (sys::MakeWidePipe(vessel.out_, vessel.in_) < 0) {
    return {};
  }
  return vessel;
}

void Vessels::Return(Vessel vessel) {
  if (!vessel.valid()) return;
  std::vector<Vessel>& idle = vessel.large() ? idle_tubs_ : idle_pipes_;
  if (idle.size() < (vessel.large() ? kMostIdleTubs : kMostIdlePipes))
    idle.push_back(std::move(vessel));
}

}  // namespace cloche::egress
