#include "race/figures.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"

namespace cloche::race {

std::string FormatTime(double seconds) {
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string FormatScore(double score) { return fmt::format("{:.6g}", score); }

std::string TimeOf(const LaneResult& lane) {
  return lane.steps.empty() ? "-" : FormatTime(TotalTime(lane));
}

std::string CpuOf(const LaneResult& lane) {
  return lane.steps.empty() ? "-" : FormatTime(TotalCpu(lane));
}

std::string MemoryOf(const LaneResult& lane) {
  const uint64_t bytes = PeakMemory(lane);
  return bytes == 0 ? "-" : FormatBytes(bytes);
}

std::string ScoreOf(const LaneResult& lane) { return lane.score ? FormatScore(*lane.score) : "-"; }

std::string FilesOf(const LaneResult& lane) {
  return lane.changes ? fmt::format("{}", lane.changes->size()) : "-";
}

std::string LinesOf(const LaneResult& lane) {
  if (!lane.changes) return "-";
  const LineCount lines = CountLines(*lane.changes);
  return fmt::format("+{} -{}", lines.added, lines.removed);
}

std::string JoinNames(const Race& race, const std::vector<size_t>& lanes) {
  std::string text;
  for (size_t i = 0; i < lanes.size(); ++i)
    text += (i == 0 ? "" : i + 1 == lanes.size() ? " and " : ", ") + race.lanes[lanes[i]].name;
  return text;
}

std::string Clip(std::string_view escaped, size_t columns) {
  if (DisplayWidth(escaped) <= columns) return std::string(escaped);
  size_t end = 0;
  for (size_t next = 1; next <= escaped.size(); ++next) {
    const bool boundary =
        next == escaped.size() || (static_cast<unsigned char>(escaped[next]) & 0xc0) != 0x80;
    if (!boundary) continue;
    if (DisplayWidth(escaped.substr(0, next)) + 1 > columns) break;
    end = next;
  }
  return std::string(escaped.substr(0, end)) + (columns > 0 ? "…" : "");
}

}  // namespace cloche::race
