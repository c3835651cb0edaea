#include "daemon/output_keep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace cloche::daemon {
namespace {

std::string LogPath() {
  return testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() +
         ".log";
}

// Removes the logs.
class CleanUp : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    (void)unlink((testing::TempDir() + test.name() + ".log").c_str());
  }
};
const bool registered = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new CleanUp);  // takes ownership
  return true;
}();

// The payloads of frames, each with its stream's letter.
std::string Text(const std::string& frames) {
  std::string text;
  for (size_t at = 0; at + kFrameHeader <= frames.size();) {
    unsigned char bytes[kFrameHeader];
    std::memcpy(bytes, frames.data() + at, kFrameHeader);
    FrameHead head;
    EXPECT_TRUE(ParseFrameHead(bytes, head));
    text += head.type == FrameType::kStderr ? "E" : "O";
    text += frames.substr(at + kFrameHeader, head.length);
    at += kFrameHeader + head.length;
  }
  return text;
}

TEST(OutputKeep, EverythingWithinTheLimitIsKeptInOrder) {
  OutputKeep keep(1000, LogPath(), getuid());
  keep.Add(FrameType::kStdout, "one");
  keep.Add(FrameType::kStderr, "two");
  keep.Add(FrameType::kStdout, "three");
  EXPECT_EQ(Text(keep.Frames()), "OoneEtwoOthree");
  EXPECT_FALSE(keep.over());
  EXPECT_EQ(keep.log_path(), "");
}

TEST(OutputKeep, BelowTheLimitShownAndHeldAddUpToEverything) {
  OutputKeep keep(100, LogPath(), getuid());
  std::string text(90, 'x');
  size_t shown = keep.Add(FrameType::kStdout, text);
  EXPECT_LT(shown, text.size());
  EXPECT_EQ(Text(keep.Held()).size() - 1 + shown, text.size());
  EXPECT_FALSE(keep.over());
}

TEST(OutputKeep, OverTheLimitKeepsTheBeginningAndTheEnd) {
  OutputKeep keep(20, LogPath(), getuid());
  for (char c = 'a'; c <= 'z'; ++c) keep.Add(FrameType::kStdout, std::string(10, c));
  EXPECT_TRUE(keep.over());
  EXPECT_EQ(keep.kept(), 20u);
  EXPECT_EQ(keep.total(), 260u);
  EXPECT_EQ(Text(keep.Frames()), "OaaaaaaaaaaOzzzzzzzzzz");
}

TEST(OutputKeep, TheLogIsPlainAndComplete) {
  OutputKeep keep(1 << 20, LogPath(), getuid());
  std::string all;
  for (int i = 0; i < 40000; ++i) {
    std::string line = "line " + std::to_string(i) + "\n";
    all += line;
    keep.Add(i % 2 == 0 ? FrameType::kStdout : FrameType::kStderr, line);
  }
  ASSERT_EQ(keep.log_path(), LogPath());
  std::ifstream file(LogPath());
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_EQ(content.str(), all);
}

TEST(OutputKeep, AFloodIsBounded) {
  OutputKeep keep(1024, LogPath(), getuid());
  std::string block(1 << 20, 'y');
  for (int i = 0; i < 100; ++i) keep.Add(FrameType::kStdout, block);
  EXPECT_EQ(keep.total(), uint64_t{100} << 20);
  std::ifstream file(LogPath(), std::ios::ate);
  EXPECT_LE(file.tellg(), 64 << 20);
}

TEST(StreamRuns, AreReplayedInOrder) {
  StreamRuns runs;
  const std::pair<FrameType, uint64_t> all[] = {{FrameType::kStderr, 1},
                                                {FrameType::kStdout, 127},
                                                {FrameType::kStderr, 128},
                                                {FrameType::kStdout, uint64_t{1} << 40},
                                                {FrameType::kStderr, 300}};
  for (const auto& [stream, size] : all) {
    runs.Add(stream, 0);
    runs.Add(stream, size - 1);
    runs.Add(stream, 1);
  }
  size_t at = 0;
  runs.ForEach([&](FrameType stream, uint64_t size) {
    EXPECT_EQ(stream, all[at].first);
    EXPECT_EQ(size, all[at].second);
    ++at;
  });
  EXPECT_EQ(at, std::size(all));
}

TEST(StreamRuns, SwitchingAfterEveryByteCostsAByte) {
  StreamRuns runs;
  for (int i = 0; i < 1 << 20; ++i)
    runs.Add(i % 2 == 0 ? FrameType::kStdout : FrameType::kStderr, 1);
  EXPECT_LE(runs.memory_bytes(), size_t{2} << 20);
}

}  // namespace
}  // namespace cloche::daemon
