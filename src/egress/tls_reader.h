#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::egress {

// Reads numbers and vectors of TLS off the front; once something is missing, all is.
class TlsReader {
 public:
  explicit TlsReader(std::string_view bytes) : rest_(bytes) {}
  size_t Number(size_t width) {
    size_t value = 0;
    for (const char byte : Take(width)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  std::string_view Take(size_t size) {
    if (size > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view Vector(size_t width) { return Take(Number(width)); }
  bool good() const { return good_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

// Takes handshake messages out of their records, in whatever pieces these come.
class TlsRecords {
 public:
  // Moves what is content at the front of `bytes`, up to the end of a record, to `messages`. Not
  // null: why it is none.
  const char* Take(std::string_view& bytes, std::string& messages) {
    constexpr char kHandshake = 22, kVersion = 3;
    constexpr size_t kHead = 5, kMostRecord = 16384;
    if (left_ == 0) {
      const size_t taken = std::min(bytes.size(), kHead - head_.size());
      head_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (head_[0] != kHandshake || (head_.size() >= 2 && head_[1] != kVersion))
        return "it is not TLS";
      if (head_.size() < kHead) return nullptr;
      left_ = TlsReader(std::string_view(head_).substr(3)).Number(2);
      head_.clear();
      if (left_ == 0 || left_ > kMostRecord) return "a TLS record has no proper length";
    }
    const size_t taken = std::min(bytes.size(), left_);
    messages += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    left_ -= taken;
    return nullptr;
  }
  bool at_end() const { return left_ == 0; }  // of a record

 private:
  std::string head_;  // of the record that is being read, as far as it came
  size_t left_ = 0;   // of its content
};

}  // namespace cloche::egress
