#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::egress {

// Follows a chunked body through its bytes and says where it ends. The bytes pass as they are, so
// nothing may be in them that another reader could cut differently.
class ChunkedBody {
 public:
  explicit ChunkedBody(bool of_request = false) : of_request_(of_request) {}
  // How many of `bytes` belong to the body; all of them unless it ends there or is bad. The part of
  // them that is content, and not framing, is appended to `content` when that is asked for.
  size_t Feed(std::string_view bytes, std::string* content = nullptr);
  bool done() const { return state_ == State::kDone; }
  bool bad() const { return state_ == State::kBad; }
  const char* why() const { return why_; }
  // Of the chunk that is being read: these bytes need not be looked at.
  uint64_t content_left() const { return state_ == State::kContent ? left_ : 0; }
  void Skip(uint64_t bytes);  // they went by otherwise; at most content_left()

 private:
  enum class State : uint8_t {
    kSize,
    kSizeLf,
    kContent,
    kContentCr,
    kContentLf,
    kTrailer,
    kTrailerLf,
    kDone,
    kBad
  };
  void Step(char c);
  void EndTrailerLine();
  void Bad(const char* why);

  const bool of_request_;
  State state_ = State::kSize;
  const char* why_ = "";
  uint64_t left_ = 0;
  int digits_ = 0;
  std::string line_;  // of the trailer
  size_t trailer_ = 0;
};

}  // namespace cloche::egress
