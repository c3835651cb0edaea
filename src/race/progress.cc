#include "race/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "race/figures.h"

namespace cloche::race {
namespace {

constexpr size_t kCommandColumns = 30;

const char* ColourOf(LaneState state) {
  switch (state) {
    case LaneState::kPassed:
      return "32";
    case LaneState::kFailed:
      return "31";
    case LaneState::kRunning:
      return "36";
    default:
      return "2";
  }
}

std::string OneLine(const LaneResult& lane, const LaneProgress& progress, size_t name_width,
                    size_t columns, bool colour) {
  const std::string name = fmt::format("  {:<{}}  ", EscapeForTerminal(lane.name), name_width);
  const std::string state = fmt::format("{:<9}", StateName(lane.state));
  std::string rest;
  if (lane.state != LaneState::kQueued)
    rest = fmt::format("  {:>11}", FormatTime(progress.elapsed_s));
  if (lane.state == LaneState::kPassed && lane.score) rest += "  score " + ScoreOf(lane);
  if (lane.state == LaneState::kRunning) rest += "  " + EscapeForTerminal(progress.doing);
  if (lane.state == LaneState::kFailed)
    rest += "  " + EscapeForTerminal(
                       DescribeLane(lane, kCommandColumns).substr(std::string("failed: ").size()));
  const size_t used = name.size() + state.size();
  if (used >= columns) return Clip(name + state, columns);
  rest = Clip(rest, columns - used);
  return colour ? fmt::format("{}\x1b[{}m{}\x1b[0m{}", name, ColourOf(lane.state), state, rest)
                : name + state + rest;
}

}  // namespace

std::vector<std::string> ProgressLines(const std::vector<LaneResult>& lanes,
                                       const std::vector<LaneProgress>& progress, size_t columns,
                                       size_t rows, bool colour) {
  size_t name_width = 0;
  for (const LaneResult& lane : lanes) name_width = std::max(name_width, lane.name.size());
  std::vector<size_t> shown(lanes.size());
  std::iota(shown.begin(), shown.end(), size_t{0});
  const size_t room = std::max<size_t>(rows, 2);
  std::string counted;
  if (lanes.size() > room) {
    std::ranges::stable_partition(
        shown, [&](size_t index) { return lanes[index].state == LaneState::kRunning; });
    shown.resize(room - 1);
    std::ranges::sort(shown);
    const auto count = [&](LaneState state) {
      return std::ranges::count(lanes, state, &LaneResult::state);
    };
    counted = fmt::format("  {} lanes: {} queued, {} running, {} passed, {} failed, {} cancelled",
                          lanes.size(), count(LaneState::kQueued), count(LaneState::kRunning),
                          count(LaneState::kPassed), count(LaneState::kFailed),
                          count(LaneState::kCancelled));
  }
  std::vector<std::string> lines;
  for (const size_t index : shown)
    lines.push_back(OneLine(lanes[index], progress[index], name_width, columns, colour));
  if (!counted.empty()) lines.push_back(Clip(counted, columns));
  return lines;
}

}  // namespace cloche::race
