#include "daemon/network_log.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace cloche::daemon {
namespace {

class NetworkLogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/network-log.XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/log";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  static Json Record(int number) {
    return {{"name", "host" + std::to_string(number)},
            {"decision", number % 2 == 0 ? "allow" : "deny"},
            {"bytes_up", 10},
            {"bytes_down", 100}};
  }
  std::string directory_, path_;
};

TEST_F(NetworkLogTest, LinesHaveNoControlCharacters) {
  NetworkLog log(path_);
  log.Append({{"process", "a\x1b[2J\x7f\u202e\n"}});
  ASSERT_EQ(log.Lines().size(), 1u);
  EXPECT_EQ(log.Lines()[0], R"({"process":"a\u001b[2J\u007f\u202e\n"})");
}

TEST_F(NetworkLogTest, OutlivesTheDaemon) {
  {
    NetworkLog log(path_);
    for (int i = 0; i < 3; ++i) log.Append(Record(i));
  }
  NetworkLog log(path_);
  EXPECT_EQ(log.Lines().size(), 3u);
  EXPECT_EQ(log.totals().records, 3u);
  EXPECT_EQ(log.totals().allowed, 2u);
  EXPECT_EQ(log.totals().denied, 1u);
  EXPECT_EQ(log.totals().bytes_down, 300u);
  EXPECT_EQ(log.totals().dropped, 0u);
}

TEST_F(NetworkLogTest, IsBoundedAndCountsDroppedRecords) {
  NetworkLog log(path_, 1000);
  for (int i = 0; i < 200; ++i) log.Append(Record(i));
  const auto lines = log.Lines();
  EXPECT_LT(lines.size(), 50u);
  EXPECT_NE(lines.back().find("host199"), std::string::npos);
  EXPECT_EQ(log.totals().records, 200u);
  EXPECT_EQ(log.totals().dropped + lines.size(), 200u);
  NetworkLog again(path_, 1000);
  EXPECT_EQ(again.totals().records, 200u);
  EXPECT_EQ(again.totals().dropped + again.Lines().size(), 200u);
  EXPECT_EQ(again.totals().bytes_up, 2000u);
}

TEST_F(NetworkLogTest, AnIncompleteLineIsNotARecord) {
  {
    NetworkLog log(path_);
    log.Append(Record(0));
  }
  FILE* file = fopen(path_.c_str(), "a");
  fputs("{\"name\":\"hal", file);
  fclose(file);
  NetworkLog log(path_);
  EXPECT_EQ(log.totals().records, 1u);
}

}  // namespace
}  // namespace cloche::daemon
