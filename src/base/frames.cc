#include "base/frames.h"

#include <cstring>

namespace cloche {
namespace {

bool IsKnown(uint8_t type) {
  switch (static_cast<FrameType>(type)) {
    case FrameType::kStdin:
    case FrameType::kStdinEnd:
    case FrameType::kResize:
    case FrameType::kSignal:
    case FrameType::kStdout:
    case FrameType::kStderr:
    case FrameType::kStarted:
    case FrameType::kResult:
    case FrameType::kNotice:
      return true;
  }
  return false;
}

}  // namespace

void AppendFrame(std::string& out, FrameType type, std::string_view payload) {
  const auto length = static_cast<uint32_t>(payload.size());
  const char head[kFrameHeader] = {static_cast<char>(type),
                                   0,
                                   0,
                                   0,
                                   static_cast<char>(length >> 24),
                                   static_cast<char>(length >> 16),
                                   static_cast<char>(length >> 8),
                                   static_cast<char>(length)};
  out.reserve(out.size() + kFrameHeader + payload.size());
  out.append(head, kFrameHeader);
  out.append(payload);
}

bool ParseFrameHead(const unsigned char (&bytes)[kFrameHeader], FrameHead& head) {
  if (!IsKnown(bytes[0]) || bytes[1] != 0 || bytes[2] != 0 || bytes[3] != 0) return false;
  head.type = static_cast<FrameType>(bytes[0]);
  head.length = uint32_t{bytes[4]} << 24 | uint32_t{bytes[5]} << 16 | uint32_t{bytes[6]} << 8 |
                uint32_t{bytes[7]};
  return head.length <= kMaxFramePayload;
}

void FrameReader::Add(std::string_view bytes) {
  bytes_.erase(0, taken_);
  taken_ = 0;
  bytes_.append(bytes);
}

FrameReader::Got FrameReader::Next(FrameType& type, std::string_view& payload) {
  const std::string_view left = std::string_view(bytes_).substr(taken_);
  if (left.size() < kFrameHeader) return Got::kNothing;
  unsigned char bytes[kFrameHeader];
  memcpy(bytes, left.data(), kFrameHeader);
  FrameHead head;
  if (!ParseFrameHead(bytes, head)) return Got::kNonsense;
  if (left.size() - kFrameHeader < head.length) return Got::kNothing;
  type = head.type;
  payload = left.substr(kFrameHeader, head.length);
  taken_ += kFrameHeader + head.length;
  return Got::kFrame;
}

}  // namespace cloche
