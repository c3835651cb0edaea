#include "race/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "race/json.h"

namespace cloche::race {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Step Ran(StepKind kind, double seconds, int status = 0) {
  Step step;
  step.kind = kind;
  step.command = "make test";
  step.state = "exited";
  step.exit_status = status;
  step.duration_s = seconds;
  return step;
}

LaneResult Passing(const std::string& name, double seconds = 1) {
  LaneResult lane;
  lane.name = name;
  lane.state = LaneState::kPassed;
  lane.steps = {Ran(StepKind::kApproach, seconds), Ran(StepKind::kCheck, 0)};
  return lane;
}

LaneResult Failing(const std::string& name, size_t checks_passed) {
  LaneResult lane;
  lane.name = name;
  lane.state = LaneState::kFailed;
  lane.steps = {Ran(StepKind::kApproach, 1)};
  for (size_t i = 0; i < checks_passed; ++i) lane.steps.push_back(Ran(StepKind::kCheck, 1));
  lane.steps.push_back(Ran(StepKind::kCheck, 1, 2));
  return lane;
}

LaneResult Scored(LaneResult lane, double score) {
  lane.score = score;
  return lane;
}

LaneResult Changing(LaneResult lane, const std::vector<std::string>& paths, uint64_t lines) {
  lane.changes.emplace();
  for (const std::string& path : paths) (*lane.changes)[path] = {"modified", lines, 0};
  return lane;
}

Race Of(std::vector<LaneResult> lanes, bool scored = false) {
  Race race;
  race.id = "race-test";
  race.lanes = std::move(lanes);
  race.checks = 3;
  race.scored = scored;
  return race;
}

std::vector<std::string> Order(const Race& race) {
  std::vector<std::string> names;
  for (const size_t index : Judge(race).order) names.push_back(race.lanes[index].name);
  return names;
}

std::string Says(const Race& race) { return DescribeVerdict(race, Judge(race)); }

TEST(Judge, PassingComesBeforeEverything) {
  const Race race = Of({Scored(Failing("quick", 2), 100), Scored(Passing("slow", 50), 1)}, true);
  EXPECT_THAT(Order(race), ElementsAre("slow", "quick"));
  EXPECT_EQ(Judge(race).decided_by, "only");
  EXPECT_EQ(Says(race), "winner: slow, the only lane that passed");
}

TEST(Judge, TheScoreDecidesAmongThose) {
  Race race = Of({Scored(Passing("a", 1), 2), Scored(Passing("b", 9), 3), Passing("c", 1)}, true);
  EXPECT_THAT(Order(race), ElementsAre("b", "a", "c")) << "without a score is last";
  EXPECT_EQ(Judge(race).decided_by, "score");
  EXPECT_EQ(Says(race), "winner: b, score 3 (a 2; higher is better)");
  race.lower_is_better = true;
  EXPECT_THAT(Order(race), ElementsAre("a", "b", "c"));
}

TEST(Judge, ThenFewerLines) {
  const Race race =
      Of({Changing(Passing("much", 1), {"/x"}, 50), Changing(Passing("little", 30), {"/x"}, 2)});
  EXPECT_THAT(Order(race), ElementsAre("little", "much"));
  EXPECT_EQ(Judge(race).decided_by, "lines");
  EXPECT_THAT(Says(race), HasSubstr("fewest lines changed: +2 -0 (much +50 -0)"));
}

TEST(Judge, ThenTime) {
  const Race race = Of({Passing("slow", 9), Passing("fast", 3)});
  EXPECT_THAT(Order(race), ElementsAre("fast", "slow"));
  EXPECT_EQ(Judge(race).decided_by, "time");
  EXPECT_THAT(Judge(race).tied, IsEmpty());
}

TEST(Judge, ATieIsSaidWithAllNames) {
  const Race race = Of({Scored(Passing("other", 2), 4), Scored(Passing("one", 2.1), 5),
                        Scored(Passing("two", 2.0), 5), Scored(Passing("late", 3), 5)},
                       true);
  const Verdict verdict = Judge(race);
  EXPECT_THAT(verdict.tied, ElementsAre(1, 2));
  EXPECT_EQ(verdict.winner, 1u) << "named first, not fastest by noise";
  EXPECT_EQ(verdict.decided_by, "order");
  EXPECT_THAT(Order(race), ElementsAre("one", "two", "late", "other"));
  EXPECT_EQ(Says(race),
            "tie: one and two are equal (score 5, time within the noise); one is taken because it "
            "was named first");
  EXPECT_THAT(RaceJson(race, verdict, FindOverlap(race))["tied"], ElementsAre("one", "two"));
}

TEST(Judge, WithoutAPassTheNearestMissIsNamed) {
  const Race race = Of({Failing("near", 1), Failing("nearer", 2), Failing("equal", 2)});
  const Verdict verdict = Judge(race);
  EXPECT_FALSE(verdict.winner);
  EXPECT_EQ(verdict.nearest_miss, 1u);
  EXPECT_THAT(verdict.as_near, ElementsAre(2));
  EXPECT_EQ(Says(race),
            "no lane passed; the nearest was nearer: passed 2 of 3 checks; failed: check `make "
            "test`: exit status 2 (equal got as far)");
  const auto json = RaceJson(race, verdict, FindOverlap(race));
  EXPECT_TRUE(json["winner"].is_null());
  EXPECT_EQ(json["nearest_miss"]["name"], "nearer");
  EXPECT_EQ(json["nearest_miss"]["checks_passed"], 2);
}

TEST(Judge, OfLanesThatNeverRanNoneIsNear) {
  LaneResult lane;
  lane.name = "a";
  lane.state = LaneState::kFailed;
  lane.problem = "fork: no space";
  EXPECT_EQ(Says(Of({lane})), "no lane passed: none ran");
  EXPECT_FALSE(Judge(Of({lane})).nearest_miss);
  EXPECT_EQ(DescribeLane(lane), "failed: fork: no space");
}

TEST(Judge, CancelledLanesAreNotMisses) {
  LaneResult cancelled = Failing("b", 2);
  cancelled.state = LaneState::kCancelled;
  const Race race = Of({Passing("a"), cancelled});
  EXPECT_EQ(Judge(race).winner, 0u);
  EXPECT_EQ(DescribeLane(race.lanes[1]), "cancelled");
}

TEST(Failure, IsToldWithItsCause) {
  Step step = Ran(StepKind::kCheck, 1, 124);
  step.limit = "killed: wall time limit 1 s";
  EXPECT_EQ(DescribeFailure(step), "check `make test`: killed: wall time limit 1 s");
  step.limit = "";
  step.state = "signaled";
  step.exit_status = 139;
  EXPECT_EQ(DescribeFailure(step), "check `make test`: signal 11");
  step.error = "run nothing: not found";
  EXPECT_FALSE(Succeeded(step));
  EXPECT_THAT(DescribeFailure(step), HasSubstr("not found"));
}

TEST(Overlap, CountsPathsOfSeveralLanes) {
  const Race race =
      Of({Changing(Passing("a"), {"/x", "/y"}, 1), Changing(Passing("b"), {"/y", "/z"}, 1),
          Passing("unknown"), Changing(Passing("d"), {"/y"}, 1)});
  const Overlap overlap = FindOverlap(race);
  ASSERT_EQ(overlap.paths.size(), 1u);
  EXPECT_THAT(overlap.paths.at("/y"), ElementsAre(0, 1, 3));
  EXPECT_EQ(overlap.shared[0][0], 2u);
  EXPECT_EQ(overlap.shared[0][1], 1u);
  EXPECT_EQ(overlap.shared[1][3], 1u);
  EXPECT_EQ(overlap.shared[0][2], std::nullopt);
  EXPECT_EQ(overlap.of_lane[0], 1u);
  EXPECT_EQ(overlap.of_lane[2], std::nullopt);
}

TEST(Json, SaysWhyChangesAreNotKnown) {
  Race race = Of({Passing("a")});
  const auto problem = [&] {
    return RaceJson(race, Judge(race), FindOverlap(race))["lanes"][0]["problem"];
  };
  EXPECT_TRUE(problem().is_null());
  race.lanes[0].changes_problem = "its changes are not known: no room";
  EXPECT_EQ(problem(), "its changes are not known: no room");
  race.lanes[0].problem = "no score";
  EXPECT_EQ(problem(), "no score; its changes are not known: no room");
}

TEST(Json, HasTheNumbersOfEachLane) {
  Race race = Of({Scored(Changing(Passing("a"), {"/x"}, 3), 1.5)}, true);
  race.lanes[0].steps[0].cpu_s = 0.5;
  race.lanes[0].steps[0].peak_memory_bytes = 1024;
  race.lanes[0].steps[0].denials = 2;
  const auto json = RaceJson(race, Judge(race), FindOverlap(race));
  EXPECT_EQ(json["winner"], "a");
  const auto& lane = json["lanes"][0];
  EXPECT_EQ(lane["name"], "a");
  EXPECT_EQ(lane["passed"], true);
  EXPECT_EQ(lane["score"], 1.5);
  EXPECT_EQ(lane["time_s"], 1);
  EXPECT_EQ(lane["cpu_s"], 0.5);
  EXPECT_EQ(lane["peak_memory_bytes"], 1024);
  EXPECT_EQ(lane["files_changed"], 1);
  EXPECT_EQ(lane["lines_added"], 3);
  EXPECT_EQ(lane["denials"], 2);
  EXPECT_EQ(lane["overlap"], 0);
  EXPECT_EQ(lane["steps"].size(), 2u);
  race.lanes[0].changes.reset();
  EXPECT_TRUE(
      RaceJson(race, Judge(race), FindOverlap(race))["lanes"][0]["files_changed"].is_null());
}

}  // namespace
}  // namespace cloche::race
