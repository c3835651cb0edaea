#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace cloche::api {

// One user's share of the daemon at this moment, limited so that nobody can lock out everybody
// else.
struct Guest {
  static constexpr size_t kMostConnections = 2048;  // fewer where descriptors are few
  static constexpr size_t kMostBytes = 64 << 20;    // of bodies that came, and of unread answers
  size_t connections = 0;
  size_t bytes = 0;

  // The more connections there are, the smaller the buffers of each.
  size_t Crowding() const { return std::max<size_t>(1, connections / 32); }
};

// Bytes that count for a guest for as long as this is held.
class Hold {
 public:
  Hold() = default;
  Hold(Hold&& other) noexcept
      : guest_(std::move(other.guest_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Hold& operator=(Hold&& other) noexcept {
    std::swap(guest_, other.guest_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Hold() {
    if (guest_) guest_->bytes -= bytes_;
  }
  // nullopt: one user would have more than their share.
  static std::optional<Hold> Take(std::shared_ptr<Guest> guest, size_t bytes) {
    if (guest->bytes + bytes > Guest::kMostBytes) return std::nullopt;
    return Hold(std::move(guest), bytes);
  }
  // Succeeds as long as there is any room: an answer cannot be made smaller.
  static std::optional<Hold> TakeLast(std::shared_ptr<Guest> guest, size_t bytes) {
    if (guest->bytes >= Guest::kMostBytes) return std::nullopt;
    return Hold(std::move(guest), bytes);
  }

 private:
  Hold(std::shared_ptr<Guest> guest, size_t bytes) : guest_(std::move(guest)), bytes_(bytes) {
    guest_->bytes += bytes_;
  }
  std::shared_ptr<Guest> guest_;
  size_t bytes_ = 0;
};

}  // namespace cloche::api
