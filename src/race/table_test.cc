#include "race/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "race/figures.h"
#include "race/progress.h"

namespace cloche::race {
namespace {

using testing::HasSubstr;
using testing::Not;

LaneResult Lane(const std::string& name, LaneState state) {
  LaneResult lane;
  lane.name = name;
  lane.state = state;
  Step step;
  step.command = "make";
  step.state = "exited";
  step.exit_status = state == LaneState::kFailed ? 2 : 0;
  step.duration_s = 1.25;
  step.cpu_s = 0.5;
  step.peak_memory_bytes = 32 << 20;
  lane.steps = {step};
  return lane;
}

std::string Render(const Race& race) {
  return ComparisonTable(race, Judge(race), FindOverlap(race), false);
}

TEST(ComparisonTable, HasALineForEachLaneBestFirst) {
  Race race;
  race.lanes = {Lane("bad", LaneState::kFailed), Lane("good", LaneState::kPassed)};
  race.lanes[1].changes = Changes{{"/x", {"modified", 14, 2}}};
  race.lanes[1].violations = 3;
  EXPECT_EQ(
      Render(race),
      "LANE  RESULT                                  SCORE    TIME     CPU  MEMORY  FILES   "
      "LINES  OVERLAP  VIOLATIONS\n"
      "good  passed                                      -  1.25 s  0.50 s  32 MiB      1  "
      "+14 -2        0           3\n"
      "bad   failed: approach `make`: exit status 2      -  1.25 s  0.50 s  32 MiB      -      "
      " -        -           0\n"
      "\nwinner: good, the only lane that passed\n");
}

TEST(ComparisonTable, NamesTheOverlap) {
  Race race;
  for (const char* name : {"a", "b"}) race.lanes.push_back(Lane(name, LaneState::kPassed));
  Changes changes;
  for (int i = 0; i < 7; ++i) changes["/f" + std::to_string(i)] = {};
  for (LaneResult& lane : race.lanes) lane.changes = changes;
  EXPECT_THAT(Render(race), HasSubstr("overlap: /f0 by a and b\n"));
  EXPECT_THAT(Render(race), HasSubstr("overlap: and 2 more paths\n"));
}

TEST(ComparisonTable, LetsNothingReachTheTerminalRaw) {
  Race race;
  LaneResult lane = Lane("a", LaneState::kFailed);
  lane.steps[0].command = "x\x1b]0;title\x07\n\xe2\x80\xae" + std::string(500, 'y');
  lane.changes = Changes{{"/a\x1b[2J", {}}};
  race.lanes = {lane, lane};
  const std::string text = Render(race);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(text, HasSubstr("\\x1b]0;title"));
  EXPECT_THAT(text, HasSubstr("…"));
}

TEST(ComparisonTable, SaysWhyAPassedLaneHasNoScore) {
  Race race;
  race.scored = true;
  race.lanes = {Lane("a", LaneState::kPassed)};
  race.lanes[0].problem = "the score command printed nothing";
  EXPECT_THAT(Render(race), HasSubstr("a: the score command printed nothing\n"));
}

TEST(ComparisonTable, SaysWhyChangesAreNotKnown) {
  Race race;
  race.lanes = {Lane("a", LaneState::kFailed)};
  race.lanes[0].changes_problem = "its changes are not known: no room";
  EXPECT_THAT(Render(race), HasSubstr("a: its changes are not known: no room\n"));
}

TEST(Progress, FitsTheTerminal) {
  std::vector<LaneResult> lanes;
  for (int i = 0; i < 50; ++i)
    lanes.push_back(Lane("lane-" + std::to_string(i), LaneState::kQueued));
  lanes[40].state = LaneState::kRunning;
  std::vector<LaneProgress> progress(50);
  progress[40] = {"check 1 of 2: \x1b[2J" + std::string(300, 'x'), 3};
  const auto lines = ProgressLines(lanes, progress, 60, 10, false);
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_THAT(lines[8], HasSubstr("lane-40  running         3.00 s  check 1 of 2: \\x1b[2J"));
  EXPECT_THAT(lines[9], HasSubstr("50 lanes: 49 queued, 1 running"));
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), 60u) << line;
  EXPECT_EQ(ProgressLines(lanes, progress, 60, 80, false).size(), 50u);
  for (const std::string& line : ProgressLines(lanes, progress, 5, 80, false))
    EXPECT_LE(DisplayWidth(line), 5u) << line;
}

TEST(Figures, AreReadable) {
  EXPECT_EQ(FormatTime(0.004), "0.00 s");
  EXPECT_EQ(FormatTime(9.999), "10.0 s");
  EXPECT_EQ(FormatTime(59.99), "1 min 00 s");
  EXPECT_EQ(FormatTime(185), "3 min 05 s");
  EXPECT_EQ(FormatTime(7300), "2 h 01 min");
  EXPECT_EQ(Clip("äöü", 3), "äöü");
  EXPECT_EQ(Clip("äöüx", 3), "äö…");
  EXPECT_EQ(Clip("x", 0), "");
}

}  // namespace
}  // namespace cloche::race
