#include "change/rules/merge3.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cloche::rules {
namespace {

Merged Merge(std::string_view base, std::string_view ours, std::string_view theirs) {
  Result<Merged> merged = MergeTexts(base, ours, theirs);
  EXPECT_TRUE(merged) << merged.error().message;
  return merged ? std::move(*merged) : Merged{};
}

std::string Clean(std::string_view base, std::string_view ours, std::string_view theirs) {
  const Merged merged = Merge(base, ours, theirs);
  EXPECT_TRUE(merged.Clean());
  return merged.text;
}

TEST(MergeTexts, SeparateChangesAreBothTaken) {
  EXPECT_EQ(Clean("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n"), "one\n2\nthree\n");
}

TEST(MergeTexts, OneSideAloneIsTakenAsItIs) {
  EXPECT_EQ(Clean("1\n2\n", "1\n2\n", "1\nx"), "1\nx");
  EXPECT_EQ(Clean("1\n2\n", "", "1\n2\n"), "");
  EXPECT_EQ(Clean("", "", "new\n"), "new\n");
  EXPECT_EQ(Clean("", "", ""), "");
}

TEST(MergeTexts, TheSameChangeOnBothSidesCountsOnce) {
  EXPECT_EQ(Clean("1\n2\n3\n", "1\nx\n3\n", "1\nx\n3\n"), "1\nx\n3\n");
  EXPECT_EQ(Clean("", "new", "new"), "new");
}

TEST(MergeTexts, ChangesThatTouchConflict) {
  const Merged merged = Merge("1\n2\n", "one\n2\n", "1\ntwo\n");
  EXPECT_EQ(merged.conflicts, (std::vector<MergeConflict>{{{0, 2}, {0, 2}, {0, 2}}}));
  EXPECT_EQ(merged.text, "<<<<<<< ours\none\n2\n=======\n1\ntwo\n>>>>>>> theirs\n");
}

TEST(MergeTexts, InsertionsAtOnePlaceConflict) {
  const Merged merged = Merge("1\n2\n", "1\nx\n2\n", "1\ny\n2\n");
  EXPECT_EQ(merged.conflicts, (std::vector<MergeConflict>{{{1, 0}, {1, 1}, {1, 1}}}));
  EXPECT_EQ(merged.text, "1\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n2\n");
}

TEST(MergeTexts, LinesOnWhichConflictingSidesAgreeAreOutsideTheMarkers) {
  const Merged merged = Merge("1\n", "a\nsame\ns1\ns2\ns3\nb\n", "x\nsame\ns1\ns2\ns3\ny\n");
  EXPECT_EQ(merged.conflicts,
            (std::vector<MergeConflict>{{{0, 1}, {0, 1}, {0, 1}}, {{0, 1}, {5, 1}, {5, 1}}}));
  EXPECT_EQ(merged.text,
            "<<<<<<< ours\na\n=======\nx\n>>>>>>> theirs\nsame\ns1\ns2\ns3\n"
            "<<<<<<< ours\nb\n=======\ny\n>>>>>>> theirs\n");
}

TEST(MergeTexts, DeletionOfALineTheOtherSideEditedConflicts) {
  const Merged merged = Merge("1\n2\n3\n", "1\n3\n", "1\ntwo\n3\n");
  EXPECT_EQ(merged.conflicts, (std::vector<MergeConflict>{{{1, 1}, {1, 0}, {1, 1}}}));
}

TEST(MergeTexts, CarriageReturnsStayAndMarkersGetThem) {
  EXPECT_EQ(Clean("1\r\n2\r\n3\r\n", "x\r\n2\r\n3\r\n", "1\r\n2\r\ny\r\n"), "x\r\n2\r\ny\r\n");
  EXPECT_EQ(Merge("1\r\n2\r\n", "1\r\nx\r\n", "1\r\ny\r\n").text,
            "1\r\n<<<<<<< ours\r\nx\r\n=======\r\ny\r\n>>>>>>> theirs\r\n");
}

TEST(MergeTexts, AMissingLastNewlineIsAChangeToThatLine) {
  EXPECT_EQ(Clean("1\n2\n3\n", "x\n2\n3\n", "1\n2\n3"), "x\n2\n3");
  EXPECT_EQ(Merge("1\n2\n", "1\n2", "1\n2\n3\n").text,
            "1\n<<<<<<< ours\n2\n=======\n2\n3\n>>>>>>> theirs\n");
}

TEST(MergeTexts, LabelsAreEscaped) {
  const Result<Merged> merged = MergeTexts("", "a", "b", {.ours = "x\n\x1b[2J", .theirs = ""});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->text, "<<<<<<< x\\x0a\\x1b[2J\na\n=======\nb\n>>>>>>>\n");
}

TEST(MergeTexts, BinaryIsRefusedWhereverTheNulIs) {
  std::string late(100'000, 'a');
  late += '\0';
  for (const auto& [base, ours, theirs] :
       {std::tuple{late, std::string("a"), std::string("b")}, {"a", late, "b"}, {"a", "b", late}}) {
    const Result<Merged> merged = MergeTexts(base, ours, theirs);
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, Code::kInvalid);
  }
}

TEST(MergeTexts, TooLargeIsRefused) {
  const std::string bytes(kMaxMergeBytes + 1, 'a');
  const std::string lines(kMaxMergeLines, '\n');
  for (const std::string& large : {bytes, lines}) {
    const Result<Merged> merged = MergeTexts("a", large, "b");
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, Code::kExhausted);
  }
}

// That it ends is the point: an unbounded search would not.
TEST(MergeTexts, HostileTextsAreMergedInBoundedWork) {
  std::string base, ours, theirs;
  for (unsigned i = 0; i < 100'000; ++i) {
    base += std::to_string(i % 1000) + "\n";
    ours += std::to_string(i * 7919 % 1000) + "\n";
    theirs += std::to_string(i * 104'729 % 997) + "\n";
  }
  EXPECT_FALSE(Merge(base, ours, theirs).Clean());
  const std::string few(400'000, '\n');
  std::string mixed;
  for (size_t i = 0; i < 100'000; ++i) mixed += i % 3 == 0 ? "\n" : "x\n";
  EXPECT_FALSE(Merge(few, mixed, ours).Clean());
}

}  // namespace
}  // namespace cloche::rules
