#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche {

// After `101 Switching Protocols` with `Upgrade: cloche-stream`, both directions are frames:
// one byte type, three zero bytes, payload length (u32, big endian), payload.
enum class FrameType : uint8_t {
  kStdin = 0,
  kStdinEnd = 1,
  kResize = 2,  // u16 rows, u16 columns, big endian
  kSignal = 3,  // u8 signal number
  kStdout = 16,
  kStderr = 17,
  kStarted = 18,  // JSON {"id": sandbox, "command": "1", "pid": n}
  kResult =
      19,  // JSON, the last frame: a command result (openapi.yaml, CommandResult) or {"error": ...}
  kNotice = 20,  // JSON {"kind": "denial" | "limit" | "info", "message": ...}, to show on stderr
};

inline constexpr size_t kFrameHeader = 8;
inline constexpr size_t kMaxFramePayload = 1 << 20;

struct FrameHead {
  FrameType type{};
  uint32_t length = 0;
};

void AppendFrame(std::string& out, FrameType type, std::string_view payload);
// False when the header is not one of ours (unknown type, nonzero padding, too long).
bool ParseFrameHead(const unsigned char (&bytes)[kFrameHeader], FrameHead& head);

// Takes the frames out of what arrives in pieces.
class FrameReader {
 public:
  enum class Got { kFrame, kNothing, kNonsense };
  void Add(std::string_view bytes);
  Got Next(FrameType& type, std::string_view& payload);  // which is valid until the next Add

 private:
  std::string bytes_;
  size_t taken_ = 0;
};

}  // namespace cloche
