#include "pipeline/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::pipeline {
namespace {

using testing::ElementsAre;

constexpr const char* kFile = R"(
[[stage]]
name = "local"
verify = "make test"
apply = "."
check = "make"
approval = "auto"
[[stage]]
name = "live"
deploy = "./deploy"
environment = "production"
health = "true"
)";

Json Begun(int run = 1) {
  return {{"pipeline", 1},        {"run", run},    {"sandbox", "sb_x"}, {"project", "/p"},
          {"digest", "sha256:0"}, {"text", kFile}, {"at", "now"}};
}
Json Step(const char* stage, const char* step, const char* state,
          const Json& more = Json::object()) {
  Json line = {{"stage", stage}, {"step", step}, {"state", state}};
  line.update(more);
  return line;
}

Run Replayed(std::vector<Json> lines) {
  lines.insert(lines.begin(), Begun());
  auto run = Replay(lines);
  EXPECT_TRUE(run && *run);
  return run && *run ? **run : Run();
}

TEST(PipelineRun, WithoutLinesThereIsNone) {
  const auto run = Replay({});
  ASSERT_TRUE(run);
  EXPECT_FALSE(*run);
}

TEST(PipelineRun, TheLatestRunCounts) {
  const auto run = Replay({Begun(1), {{"ended", "done"}}, Begun(2)});
  ASSERT_TRUE(run && *run);
  EXPECT_EQ((*run)->number, 2);
  EXPECT_EQ((*run)->State(), "unfinished");
}

TEST(PipelineRun, AnotherVersionIsRefused) {
  Json line = Begun();
  line["pipeline"] = 2;
  EXPECT_FALSE(Replay({line}));
}

TEST(PipelineRun, AStageHasTheStepsItAsksFor) {
  const auto run = Replayed({});
  EXPECT_THAT(StepsOf(run.stages[0]), ElementsAre("verify", "approval", "apply", "check"));
  EXPECT_THAT(StepsOf(run.stages[1]), ElementsAre("approval", "deploy", "health"));
}

TEST(PipelineRun, AStageGoesFromPendingToDone) {
  std::vector<Json> lines;
  EXPECT_EQ(Replayed(lines).StageState(0), "pending");
  lines.push_back(Step("local", "verify", "begun"));
  EXPECT_EQ(Replayed(lines).StageState(0), "running");
  lines.push_back(Step("local", "verify", "done"));
  lines.push_back(Step("local", "approval", "waiting", {{"subject", "d"}}));
  EXPECT_EQ(Replayed(lines).StageState(0), "waiting");
  EXPECT_EQ(Replayed(lines).State(), "waiting");
  EXPECT_EQ(Replayed(lines).progress[0].approved_subject(), "");
  lines.push_back(Step("local", "approval", "granted", {{"subject", "d"}}));
  EXPECT_EQ(Replayed(lines).progress[0].approved_subject(), "d");
  lines.push_back(Step("local", "apply", "begun", {{"digest", "d"}}));
  EXPECT_TRUE(Replayed(lines).progress[0].ChangedReality());
  lines.push_back(Step("local", "apply", "done", {{"promotion", "pr_1"}}));
  EXPECT_EQ(Replayed(lines).progress[0].promotion(), "pr_1");
  lines.push_back(Step("local", "check", "done"));
  EXPECT_EQ(Replayed(lines).StageState(0), "done");
}

TEST(PipelineRun, AYesToTriggersIsNotKeptForAnotherSubject) {
  const auto run =
      Replayed({Step("local", "approval", "granted", {{"subject", "a"}, {"triggers", true}}),
                Step("local", "approval", "waiting", {{"subject", "b"}, {"triggers", false}})});
  EXPECT_FALSE(run.progress[0].triggers_approved());
  EXPECT_EQ(run.progress[0].approved_subject(), "");
}

TEST(PipelineRun, AStageThatAppliedNothingNeedsNoWayBack) {
  EXPECT_FALSE(Replayed({Step("local", "apply", "begun"),
                         Step("local", "apply", "done", {{"promotion", ""}})})
                   .progress[0]
                   .ChangedReality());
  EXPECT_FALSE(Replayed({Step("local", "verify", "failed")}).progress[0].ChangedReality());
  EXPECT_TRUE(Replayed({Step("live", "deploy", "failed")}).progress[1].ChangedReality());
}

TEST(PipelineRun, ARollbackThatWasCutShortIsKnown) {
  auto run = Replayed({{{"rollback_from", "local"}, {"why", "unwell"}}});
  EXPECT_EQ(run.rollback_from, "local");
  EXPECT_EQ(run.State(), "unfinished");
  run = Replayed({{{"rollback_from", "local"}, {"why", "unwell"}},
                  Step("local", "rollback", "done"),
                  {{"ended", "rolled_back"}, {"why", "unwell"}}});
  EXPECT_EQ(run.rollback_from, "");
  EXPECT_EQ(run.State(), "rolled_back");
  EXPECT_EQ(run.StageState(0), "rolled_back");
}

TEST(PipelineRun, WatchedUntilItsHealthIsOver) {
  std::vector<Json> lines = {Step("live", "approval", "granted", {{"subject", "d"}}),
                             Step("live", "deploy", "done"), Step("live", "health", "begun")};
  EXPECT_EQ(Replayed(lines).StageState(1), "watched");
  lines.push_back(Step("live", "health", "failed"));
  EXPECT_EQ(Replayed(lines).StageState(1), "failed");
}

TEST(PipelineRun, AWishToCancelIsSeen) { EXPECT_TRUE(Replayed({{{"cancel", true}}}).cancel_asked); }

}  // namespace
}  // namespace cloche::pipeline
