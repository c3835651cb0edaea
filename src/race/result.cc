#include "race/result.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/text.h"
#include "race/figures.h"

namespace cloche::race {
namespace {

// Less is better in each.
using Key = std::tuple<bool, double, uint64_t>;  // unscored, score, lines

Key KeyOf(const Race& race, const LaneResult& lane) {
  uint64_t lines = std::numeric_limits<uint64_t>::max();
  if (lane.changes) {
    const LineCount count = CountLines(*lane.changes);
    lines = count.added + count.removed;
  }
  const double score = lane.score.value_or(0);
  return {race.scored && !lane.score, race.lower_is_better ? score : -score, lines};
}

bool Passed(const LaneResult& lane) { return lane.state == LaneState::kPassed; }

// How far a lane that did not pass got; more is nearer.
std::tuple<size_t, size_t, size_t> Reach(const LaneResult& lane) {
  const auto succeeded = static_cast<size_t>(std::ranges::count_if(lane.steps, Succeeded));
  return {ChecksPassed(lane), succeeded, lane.steps.size()};
}

bool Before(const Race& race, size_t a, size_t b) {
  const LaneResult& x = race.lanes[a];
  const LaneResult& y = race.lanes[b];
  if (Passed(x) != Passed(y)) return Passed(x);
  if (!Passed(x)) return Reach(x) > Reach(y);
  const Key key_x = KeyOf(race, x);
  const Key key_y = KeyOf(race, y);
  return key_x != key_y ? key_x < key_y : TotalTime(x) < TotalTime(y);
}

// The passed lanes that are as good as the best in all that decides. `order` is sorted.
std::vector<size_t> Best(const Race& race, const std::vector<size_t>& order) {
  std::vector<size_t> best;
  const LaneResult& first = race.lanes[order[0]];
  const double fastest = TotalTime(first);
  const double slowest = fastest + std::max(kTimeNoise * fastest, kTimeNoiseSeconds);
  for (const size_t index : order) {
    const LaneResult& lane = race.lanes[index];
    if (Passed(lane) && KeyOf(race, lane) == KeyOf(race, first) && TotalTime(lane) <= slowest)
      best.push_back(index);
  }
  std::ranges::sort(best);  // as they were named
  return best;
}

std::string DecidedBy(const Race& race, const LaneResult& winner, const LaneResult& second) {
  if (!Passed(second)) return "only";
  const Key a = KeyOf(race, winner);
  const Key b = KeyOf(race, second);
  if (std::get<0>(a) != std::get<0>(b) || std::get<1>(a) != std::get<1>(b)) return "score";
  return std::get<2>(a) != std::get<2>(b) ? "lines" : "time";
}

void JudgeMisses(const Race& race, Verdict& verdict) {
  const size_t first = verdict.order[0];
  if (race.lanes[first].steps.empty()) return;
  verdict.nearest_miss = first;
  for (const size_t index : verdict.order)
    if (index != first && Reach(race.lanes[index]) == Reach(race.lanes[first]))
      verdict.as_near.push_back(index);
}

std::string DescribeWinner(const Race& race, const Verdict& verdict) {
  const LaneResult& winner = race.lanes[*verdict.winner];
  if (!verdict.tied.empty()) {
    std::string same = race.scored ? fmt::format("score {}", ScoreOf(winner)) : "";
    if (winner.changes) same += (same.empty() ? "" : ", ") + std::string("lines changed");
    same += (same.empty() ? "" : ", ") + std::string("time within the noise");
    return fmt::format("tie: {} are equal ({}); {} is taken because it was named first",
                       JoinNames(race, verdict.tied), same, winner.name);
  }
  if (verdict.decided_by == "only") {
    const auto why = race.lanes.size() == 1 ? "" : ", the only lane that passed";
    return fmt::format("winner: {}{}", winner.name, why);
  }
  const LaneResult& second = race.lanes[verdict.order[1]];
  std::string why;
  if (verdict.decided_by == "score")
    why = fmt::format("score {} ({} {}; {} is better)", ScoreOf(winner), second.name,
                      ScoreOf(second), race.lower_is_better ? "lower" : "higher");
  if (verdict.decided_by == "lines")
    why = fmt::format("fewest lines changed: {} ({} {})", LinesOf(winner), second.name,
                      LinesOf(second));
  if (verdict.decided_by == "time")
    why = fmt::format("fastest: {} ({} {})", TimeOf(winner), second.name, TimeOf(second));
  return fmt::format("winner: {}, {}", winner.name, why);
}

}  // namespace

const char* StepName(StepKind kind) {
  switch (kind) {
    case StepKind::kSetup:
      return "set-up";
    case StepKind::kApproach:
      return "approach";
    case StepKind::kCheck:
      return "check";
    case StepKind::kScore:
      return "score";
  }
  return "";
}

const char* StateName(LaneState state) {
  switch (state) {
    case LaneState::kQueued:
      return "queued";
    case LaneState::kRunning:
      return "running";
    case LaneState::kPassed:
      return "passed";
    case LaneState::kFailed:
      return "failed";
    case LaneState::kCancelled:
      return "cancelled";
  }
  return "";
}

bool Succeeded(const Step& step) {
  return step.state == "exited" && step.exit_status == 0 && step.error.empty();
}

std::string FailureReason(const Step& step) {
  if (!step.error.empty()) return step.error;
  if (!step.limit.empty()) return step.limit;
  if (step.state == "signaled") return fmt::format("signal {}", step.exit_status - 128);
  return fmt::format("exit status {}", step.exit_status);
}

std::string DescribeFailure(const Step& step, size_t command_columns) {
  const std::string command = command_columns == std::string::npos
                                  ? step.command
                                  : Clip(EscapeForTerminal(step.command), command_columns);
  return fmt::format("{} `{}`: {}", StepName(step.kind), command, FailureReason(step));
}

double TotalTime(const LaneResult& lane) {
  double sum = 0;
  for (const Step& step : lane.steps) sum += step.duration_s;
  return sum;
}

double TotalCpu(const LaneResult& lane) {
  double sum = 0;
  for (const Step& step : lane.steps) sum += step.cpu_s;
  return sum;
}

uint64_t PeakMemory(const LaneResult& lane) {
  uint64_t peak = 0;
  for (const Step& step : lane.steps) peak = std::max(peak, step.peak_memory_bytes);
  return peak;
}

uint64_t TotalDenials(const LaneResult& lane) {
  uint64_t sum = 0;
  for (const Step& step : lane.steps) sum += step.denials;
  return sum;
}

size_t ChecksPassed(const LaneResult& lane) {
  return static_cast<size_t>(std::ranges::count_if(lane.steps, [](const Step& step) {
    return step.kind == StepKind::kCheck && Succeeded(step);
  }));
}

LineCount CountLines(const Changes& changes) {
  LineCount count;
  for (const auto& [path, file] : changes) {
    count.added += file.lines_added;
    count.removed += file.lines_removed;
  }
  return count;
}

std::string DescribeProblems(const LaneResult& lane) {
  const bool both = !lane.problem.empty() && !lane.changes_problem.empty();
  return lane.problem + (both ? "; " : "") + lane.changes_problem;
}

std::string DescribeLane(const LaneResult& lane, size_t command_columns) {
  if (lane.state != LaneState::kFailed) return StateName(lane.state);
  if (!lane.problem.empty()) return "failed: " + lane.problem;
  for (const Step& step : lane.steps)
    if (!Succeeded(step)) return "failed: " + DescribeFailure(step, command_columns);
  return "failed";
}

Verdict Judge(const Race& race) {
  Verdict verdict;
  verdict.order.resize(race.lanes.size());
  std::iota(verdict.order.begin(), verdict.order.end(), size_t{0});
  if (verdict.order.empty()) return verdict;
  std::ranges::stable_sort(verdict.order, [&](size_t a, size_t b) { return Before(race, a, b); });
  if (!Passed(race.lanes[verdict.order[0]])) {
    JudgeMisses(race, verdict);
    return verdict;
  }
  const std::vector<size_t> best = Best(race, verdict.order);
  verdict.winner = best[0];
  // The winner stands first, also among equals.
  std::erase(verdict.order, best[0]);
  verdict.order.insert(verdict.order.begin(), best[0]);
  if (best.size() > 1) {
    verdict.tied = best;
    verdict.decided_by = "order";
  } else if (verdict.order.size() == 1) {
    verdict.decided_by = "only";
  } else {
    verdict.decided_by =
        DecidedBy(race, race.lanes[verdict.order[0]], race.lanes[verdict.order[1]]);
  }
  return verdict;
}

std::string DescribeVerdict(const Race& race, const Verdict& verdict) {
  if (verdict.winner) return DescribeWinner(race, verdict);
  if (!verdict.nearest_miss) return "no lane passed: none ran";
  const LaneResult& lane = race.lanes[*verdict.nearest_miss];
  const std::string checks =
      race.checks == 0 ? ""
                       : fmt::format("passed {} of {} checks; ", ChecksPassed(lane), race.checks);
  std::string text = fmt::format("no lane passed; the nearest was {}: {}{}", lane.name, checks,
                                 DescribeLane(lane));
  if (!verdict.as_near.empty())
    text += fmt::format(" ({} got as far)", JoinNames(race, verdict.as_near));
  return text;
}

Overlap FindOverlap(const Race& race) {
  const size_t count = race.lanes.size();
  Overlap overlap;
  std::map<std::string, std::vector<size_t>> all;
  for (size_t i = 0; i < count; ++i)
    if (race.lanes[i].changes)
      for (const auto& [path, file] : *race.lanes[i].changes) all[path].push_back(i);
  overlap.shared.assign(count, std::vector<std::optional<size_t>>(count));
  overlap.of_lane.resize(count);
  for (size_t a = 0; a < count; ++a) {
    if (!race.lanes[a].changes) continue;
    overlap.of_lane[a] = 0;
    for (size_t b = 0; b < count; ++b)
      if (race.lanes[b].changes) overlap.shared[a][b] = 0;
  }
  for (auto& [path, lanes] : all) {
    for (const size_t a : lanes)
      for (const size_t b : lanes) ++*overlap.shared[a][b];
    if (lanes.size() < 2) continue;
    for (const size_t a : lanes) ++*overlap.of_lane[a];
    overlap.paths[path] = std::move(lanes);
  }
  return overlap;
}

}  // namespace cloche::race
