#include "race/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "race/plot.h"

namespace cloche::race {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile =
    "</pre><script>alert(1)</script><img src=http://x/y onerror='x'>\"&\x1b[2J\xff\xe2\x80\xae\n";

Race Sample() {
  Race race;
  race.id = "race-k3x9";
  race.scored = true;
  race.checks = 1;
  LaneResult won;
  won.name = "qsort";
  won.state = LaneState::kPassed;
  won.score = 2.5;
  Step step;
  step.command = "make test";
  step.state = "exited";
  step.duration_s = 1;
  won.steps = {step};
  won.changes = Changes{{"/p/median.c", {"modified", 14, 2}}};
  LaneResult lost = won;
  lost.name = "reckless";
  lost.state = LaneState::kFailed;
  lost.score.reset();
  lost.steps[0].exit_status = 2;
  lost.steps[0].tail = "FAIL of unsorted values\n";
  race.lanes = {lost, won};
  return race;
}

std::string Page(const Race& race) { return HtmlReport(race, Judge(race), FindOverlap(race)); }

TEST(Html, ShowsVerdictFiguresAndOutput) {
  const std::string page = Page(Sample());
  EXPECT_THAT(page, HasSubstr("Winner: qsort"));
  EXPECT_THAT(page, HasSubstr("FAIL of unsorted values"));
  EXPECT_THAT(page, HasSubstr("/p/median.c"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, HasSubstr("<b>Score</b>"));
  EXPECT_THAT(page, HasSubstr("<b>Lines</b>"));
  EXPECT_THAT(page, HasSubstr("<h2>Overlap</h2>"));
}

TEST(Html, NeedsNothingButItself) {
  const std::string page = Page(Sample());
  for (const char* word : {"http://", "https://", "<script", "<link", "<img", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Html, EscapesAllThatCameFromASandbox) {
  Race race = Sample();
  for (LaneResult& lane : race.lanes) {
    lane.name = kHostile;
    lane.problem = kHostile;
    lane.sandbox = lane.sandbox_name = kHostile;
    lane.kept = true;
    lane.scores = {{kHostile, 1}};
    lane.steps[0].command = lane.steps[0].tail = lane.steps[0].limit = kHostile;
    lane.changes = Changes{{kHostile, {kHostile, 1, 1}}};
  }
  race.id = race.when = kHostile;
  const std::string page = Page(race);
  for (const char* raw :
       {"<script", "<img", "</pre><s", "onerror='", "\x1b", "\xff", "\xe2\x80\xae"})
    EXPECT_THAT(page, Not(HasSubstr(raw)));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_EQ(EscapeHtml("a<b>&\"'\n\t\x01"), "a&lt;b&gt;&amp;&quot;&#39;\n\t\\x01");
}

TEST(Html, SaysThatNobodyPassed) {
  Race race = Sample();
  race.lanes.pop_back();
  EXPECT_THAT(Page(race), HasSubstr("No lane passed; the nearest was reckless"));
}

TEST(BarPlot, DrawsBarsFromZeroToEitherSide) {
  const std::string plot = BarPlot(
      "Score", "", {{"a", 10, "10", "won"}, {"b", -5, "-5", "failed"}, {"c", {}, "-", "failed"}});
  size_t bars = 0;
  for (size_t at = 0; (at = plot.find("<rect", at)) != std::string::npos; ++at) ++bars;
  EXPECT_EQ(bars, 2u);
  EXPECT_EQ(BarPlot("Score", "", {{"a", {}, "-", "won"}}), "") << "nothing is known";
  EXPECT_THAT(BarPlot("CPU", "", {{"a", 0, "0", "won"}}), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace cloche::race
