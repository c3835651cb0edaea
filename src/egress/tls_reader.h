#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cloche::egress {

// Reads numbers and vectors of TLS off the front; once something is missing, all further reads
// fail.
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

// Takes handshake messages out of their records, in any pieces.
class TlsRecords {
 public:
  // Moves the content at the front of `bytes`, up to the end of a record, to `messages`. Not null:
  // why it is invalid.
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

// Cuts a stream into records of any type, in any pieces.
class TlsPieces {
 public:
  struct Piece {
    bool whole_head = false;  // without it there is nothing else yet
    bool begins = false;      // a record, whose head is this
    char type = 0;
    std::string_view head, content;
  };
  // Takes the next piece off the front of `bytes`. Not null: why there is none.
  const char* Next(std::string_view& bytes, Piece& piece) {
    constexpr char kFirstType = 20, kLastType = 24, kVersion = 3;
    constexpr size_t kHead = 5, kMostRecord = 16384 + 2048;
    if (left_ == 0) {
      if (head_.size() == kHead) head_.clear();
      const size_t taken = std::min(bytes.size(), kHead - head_.size());
      head_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (head_[0] < kFirstType || head_[0] > kLastType ||
          (head_.size() >= 2 && head_[1] != kVersion))
        return "it is not TLS";
      if (head_.size() < kHead) return nullptr;
      left_ = TlsReader(std::string_view(head_).substr(3)).Number(2);
      if (left_ > kMostRecord) return "a TLS record has no proper length";
      piece.begins = true;
      piece.head = head_;
    }
    piece.whole_head = true;
    piece.type = head_[0];
    piece.content = bytes.substr(0, std::min(bytes.size(), left_));
    bytes.remove_prefix(piece.content.size());
    left_ -= piece.content.size();
    return nullptr;
  }
  // The bytes of an incomplete head.
  std::string TakeHead() {
    const bool whole = head_.size() == 5;
    std::string head = std::exchange(head_, {});
    return whole ? "" : head;
  }

 private:
  std::string head_;
  size_t left_ = 0;
};

}  // namespace cloche::egress
