#include "race/table.h"

#include <fmt/core.h>

#include "base/text.h"
#include "race/figures.h"

namespace cloche::race {
namespace {

// --json and the report have all of it.
constexpr size_t kResultColumns = 70;
constexpr size_t kCommandColumns = 30;
constexpr size_t kMostPaths = 5;

std::string OverlapLines(const Race& race, const Overlap& overlap) {
  std::string text;
  size_t shown = 0;
  for (const auto& [path, lanes] : overlap.paths) {
    if (++shown > kMostPaths) break;
    text += fmt::format("overlap: {} by {}\n", EscapeForTerminal(path), JoinNames(race, lanes));
  }
  if (overlap.paths.size() > kMostPaths)
    text += fmt::format("overlap: and {} more paths\n", overlap.paths.size() - kMostPaths);
  return text;
}

}  // namespace

std::string ComparisonTable(const Race& race, const Verdict& verdict, const Overlap& overlap,
                            bool colour) {
  Table table({"LANE", "RESULT", "SCORE", "TIME", "CPU", "MEMORY", "FILES", "LINES", "OVERLAP",
               "VIOLATIONS"});
  for (size_t column = 2; column < 10; ++column) table.AlignRight(column);
  for (const size_t index : verdict.order) {
    const LaneResult& lane = race.lanes[index];
    const auto shared = overlap.of_lane[index];
    table.AddRow({lane.name,
                  Clip(EscapeForTerminal(DescribeLane(lane, kCommandColumns)), kResultColumns),
                  ScoreOf(lane), TimeOf(lane), CpuOf(lane), MemoryOf(lane), FilesOf(lane),
                  LinesOf(lane), shared ? fmt::format("{}", *shared) : "-",
                  lane.steps.empty() ? "-" : fmt::format("{}", lane.violations)});
  }
  const std::string line = EscapeForTerminal(DescribeVerdict(race, verdict));
  std::string text = table.Render(colour) + "\n" + OverlapLines(race, overlap);
  for (const LaneResult& lane : race.lanes) {
    // For a failed lane, the table says the rest.
    const std::string problem =
        lane.state == LaneState::kPassed ? DescribeProblems(lane) : lane.changes_problem;
    if (!problem.empty()) text += fmt::format("{}: {}\n", lane.name, EscapeForTerminal(problem));
  }
  return text + (colour ? fmt::format("\x1b[{}m{}\x1b[0m\n", verdict.winner ? "1;32" : "1;31", line)
                        : line + "\n");
}

}  // namespace cloche::race
