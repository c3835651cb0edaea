#include "egress/http_body.h"

#include <algorithm>

#include "base/ascii.h"
#include "egress/http_head.h"

namespace cloche::egress {
namespace {

constexpr int kMostDigits = 15;
constexpr size_t kMostTrailer = 8 << 10;

}  // namespace

void ChunkedBody::Bad(const char* why) {
  state_ = State::kBad;
  why_ = why;
}

void ChunkedBody::Skip(uint64_t bytes) {
  left_ -= bytes;
  if (left_ == 0) state_ = State::kContentCr;
}

size_t ChunkedBody::Feed(std::string_view bytes, std::string* content) {
  size_t at = 0;
  while (at < bytes.size() && !done() && !bad()) {
    if (state_ == State::kContent) {
      const size_t part = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - at));
      if (content != nullptr) content->append(bytes.substr(at, part));
      Skip(part);
      at += part;
      continue;
    }
    Step(bytes[at]);
    if (!bad()) ++at;
  }
  return at;
}

void ChunkedBody::Step(char c) {
  switch (state_) {
    case State::kSize:
      if (const int digit = HexDigit(c); digit >= 0) {
        if (++digits_ > kMostDigits) return Bad("a chunk is too long");
        left_ = left_ << 4 | static_cast<uint64_t>(digit);
      } else if (c == '\r' && digits_ > 0) {
        state_ = State::kSizeLf;
      } else {
        Bad("the size of a chunk is not a number");  // extensions: nobody needs them, many misread
                                                     // them
      }
      return;
    case State::kSizeLf:
      if (c != '\n') return Bad("a chunk's line does not end with CR LF");
      digits_ = 0;
      state_ = left_ == 0 ? State::kTrailer : State::kContent;
      return;
    case State::kContentCr:
      if (c != '\r') return Bad("a chunk does not end where it said");
      state_ = State::kContentLf;
      return;
    case State::kContentLf:
      if (c != '\n') return Bad("a chunk does not end where it said");
      state_ = State::kSize;
      return;
    case State::kTrailer:
      if (++trailer_ > kMostTrailer) return Bad("the trailer is too long");
      if (c == '\r') {
        state_ = State::kTrailerLf;
      } else if (c == '\n' || c == '\0') {
        Bad("the trailer has control characters in it");
      } else {
        line_ += c;
      }
      return;
    case State::kTrailerLf:
      if (c != '\n') return Bad("the trailer's lines do not end with CR LF");
      EndTrailerLine();
      return;
    default:
      return;
  }
}

void ChunkedBody::EndTrailerLine() {
  if (line_.empty()) {
    state_ = State::kDone;
    return;
  }
  // Read as a head of its own: the same rules for names and values.
  const auto fields = ParseResponseHead("HTTP/1.1 200 OK\r\n" + line_ + "\r\n\r\n", "HEAD");
  if (!fields) return Bad("the trailer has a line that is not a header");
  for (const char* name : {"Content-Length", "Transfer-Encoding", "Host", "Connection"}) {
    if (fields->Find(name) != nullptr) return Bad("the trailer says how long the message is");
  }
  for (const Header& field : fields->headers) {
    if (of_request_ && BelongsInHead(field.name))
      return Bad("the trailer has something in it that belongs in a head");
  }
  line_.clear();
  state_ = State::kTrailer;
}

}  // namespace cloche::egress
