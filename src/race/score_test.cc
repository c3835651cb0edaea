#include "race/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::race {
namespace {

using testing::HasSubstr;

double Value(std::string_view printed, const std::string& key = "") {
  const auto score = ReadScore(printed, key);
  EXPECT_TRUE(score) << printed;
  return score ? score->value : -12345;
}

std::string Complaint(std::string_view printed, const std::string& key = "") {
  const auto score = ReadScore(printed, key);
  EXPECT_FALSE(score) << printed;
  return score ? "" : score.error().message;
}

TEST(Score, IsANumber) {
  EXPECT_EQ(Value("42\n"), 42);
  EXPECT_EQ(Value("  -1.5e3 \n\n"), -1500);
  EXPECT_EQ(Value("+3"), 3);
}

TEST(Score, MayStandBelowOtherLines) {
  EXPECT_EQ(Value("warming up\n17 rounds\n0.25\n"), 0.25);
  EXPECT_EQ(Value("log\n{\"score\": 7}\n"), 7);
}

TEST(Score, MayBeOneOfSeveral) {
  EXPECT_EQ(Value(R"({"score": 1, "size": 2})"), 1);
  EXPECT_EQ(Value(R"({"score": 1, "size": 2})", "size"), 2);
  EXPECT_EQ(Value("{\n \"latency\": 3.5,\n \"unit\": \"ms\"\n}\n"), 3.5);
  const auto score = ReadScore(R"({"score": 1, "size": 2, "note": "x"})", "");
  ASSERT_TRUE(score);
  EXPECT_EQ(score->others, (std::map<std::string, double>{{"score", 1}, {"size", 2}}));
}

TEST(Score, ThatCannotBeReadSaysWhy) {
  EXPECT_THAT(Complaint(""), HasSubstr("printed nothing"));
  EXPECT_THAT(Complaint(" \n"), HasSubstr("printed nothing"));
  EXPECT_THAT(Complaint("fast"), HasSubstr("not a number: fast"));
  EXPECT_THAT(Complaint("12 ms"), HasSubstr("not a number"));
  EXPECT_THAT(Complaint("nan"), HasSubstr("not a number"));
  EXPECT_THAT(Complaint("inf"), HasSubstr("not a number"));
  EXPECT_THAT(Complaint("1e999"), HasSubstr("not a number"));
  EXPECT_THAT(Complaint(R"({"a": 1, "b": 2})"), HasSubstr("several numbers"));
  EXPECT_THAT(Complaint(R"({"a": 1})", "b"), HasSubstr("no number named b"));
  EXPECT_THAT(Complaint(R"({"a": "1"})"), HasSubstr("no number in it"));
  EXPECT_THAT(Complaint(R"({"score": 1e999})"), HasSubstr("not a number"));
  EXPECT_THAT(Complaint("5", "size"), HasSubstr("without the name size"));
  EXPECT_THAT(Complaint("\x1b[2J\xff"), HasSubstr("\\x1b[2J\\xff"));
  EXPECT_LT(Complaint(std::string(1 << 20, 'x')).size(), 200u);
}

}  // namespace
}  // namespace cloche::race
