#include "base/frames.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

using Got = FrameReader::Got;

TEST(FrameReader, TakesFramesOutOfPieces) {
  std::string bytes;
  AppendFrame(bytes, FrameType::kStdout, "hello");
  AppendFrame(bytes, FrameType::kStderr, "");
  AppendFrame(bytes, FrameType::kResult, "{}");
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameReader reader;
    std::string seen;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      reader.Add(std::string_view(bytes).substr(at, piece));
      FrameType type{};
      std::string_view payload;
      while (reader.Next(type, payload) == Got::kFrame)
        seen += std::to_string(static_cast<int>(type)) + ":" + std::string(payload) + " ";
    }
    EXPECT_EQ(seen, "16:hello 17: 19:{} ") << "in pieces of " << piece;
  }
}

TEST(FrameReader, ReportsInvalidFrames) {
  FrameReader reader;
  FrameType type{};
  std::string_view payload;
  EXPECT_EQ(reader.Next(type, payload), Got::kNothing);
  reader.Add(std::string(kFrameHeader, '\x7f'));
  EXPECT_EQ(reader.Next(type, payload), Got::kNonsense);
}

}  // namespace
}  // namespace cloche
