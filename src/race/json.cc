#include "race/json.h"

namespace cloche::race {
namespace {

using Json = nlohmann::ordered_json;

Json Names(const Race& race, const std::vector<size_t>& lanes) {
  Json names = Json::array();
  for (const size_t index : lanes) names.push_back(race.lanes[index].name);
  return names;
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json LaneJson(const Race& race, const LaneResult& lane, std::optional<size_t> overlap) {
  Json out = {{"name", lane.name},
              {"passed", lane.state == LaneState::kPassed},
              {"state", StateName(lane.state)},
              {"result", DescribeLane(lane)},
              {"score", OrNull(lane.score)},
              {"scores", lane.scores.empty() ? Json() : Json(lane.scores)},
              {"checks_passed", ChecksPassed(lane)},
              {"checks", race.checks},
              {"time_s", TotalTime(lane)},
              {"cpu_s", TotalCpu(lane)}};
  const uint64_t peak = PeakMemory(lane);
  out["peak_memory_bytes"] = peak == 0 ? Json() : Json(peak);
  out["files_changed"] = lane.changes ? Json(lane.changes->size()) : Json();
  const LineCount lines = lane.changes ? CountLines(*lane.changes) : LineCount{};
  out["lines_added"] = lane.changes ? Json(lines.added) : Json();
  out["lines_removed"] = lane.changes ? Json(lines.removed) : Json();
  out["overlap"] = OrNull(overlap);
  out["violations"] = lane.violations;
  out["denials"] = TotalDenials(lane);
  out["problem"] = TextOrNull(DescribeProblems(lane));
  out["sandbox"] = TextOrNull(lane.sandbox);
  out["sandbox_name"] = TextOrNull(lane.sandbox_name);
  out["kept"] = lane.kept;
  out["steps"] = Json::array();
  for (const Step& step : lane.steps) out["steps"].push_back(StepJson(step));
  return out;
}

Json NearestMiss(const Race& race, const Verdict& verdict) {
  if (!verdict.nearest_miss) return nullptr;
  const LaneResult& lane = race.lanes[*verdict.nearest_miss];
  return {{"name", lane.name},
          {"checks_passed", ChecksPassed(lane)},
          {"checks", race.checks},
          {"result", DescribeLane(lane)},
          {"as_near", Names(race, verdict.as_near)}};
}

}  // namespace

Json StepJson(const Step& step) {
  return {
      {"kind", StepName(step.kind)},
      {"command", step.command},
      {"state", step.state},
      {"exit_status", step.exit_status},
      {"limit", TextOrNull(step.limit)},
      {"error", TextOrNull(step.error)},
      {"duration_s", step.duration_s},
      {"cpu_s", step.cpu_s},
      {"peak_memory_bytes", step.peak_memory_bytes == 0 ? Json() : Json(step.peak_memory_bytes)},
      {"denials", step.denials},
      {"output_tail", step.tail}};
}

Json RaceJson(const Race& race, const Verdict& verdict, const Overlap& overlap) {
  Json out = {{"id", race.id},
              {"winner", verdict.winner ? Json(race.lanes[*verdict.winner].name) : Json()},
              {"tied", Names(race, verdict.tied)},
              {"decided_by", TextOrNull(verdict.decided_by)},
              {"nearest_miss", NearestMiss(race, verdict)},
              {"verdict", DescribeVerdict(race, verdict)},
              {"started", race.when},
              {"wall_s", race.wall_s},
              {"jobs", race.jobs}};
  out["setup"] = Json::array();
  for (const Step& step : race.setup) out["setup"].push_back(StepJson(step));
  out["lanes"] = Json::array();
  for (const size_t index : verdict.order)
    out["lanes"].push_back(LaneJson(race, race.lanes[index], overlap.of_lane[index]));
  out["overlap"] = Json::array();
  for (const auto& [path, lanes] : overlap.paths)
    out["overlap"].push_back({{"path", path}, {"lanes", Names(race, lanes)}});
  return out;
}

}  // namespace cloche::race
