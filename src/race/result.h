#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cloche::race {

// The results of the lanes, and the winner. Names and outputs come from sandboxes: printing code
// must escape them.

enum class StepKind { kSetup, kApproach, kCheck, kScore };
const char* StepName(StepKind kind);  // "set-up", "approach", ...

// One command that was run.
struct Step {
  StepKind kind = StepKind::kApproach;
  std::string command;
  std::string state;  // of CommandResult: exited, signaled, killed, failed
  int exit_status = 0;
  std::string limit;  // "killed: wall time limit 1 s", or ""
  std::string error;  // why it could not run, or ""
  double duration_s = 0;
  double cpu_s = 0;
  uint64_t peak_memory_bytes = 0;  // 0 where nothing counts it
  uint64_t denials = 0;
  std::string tail;  // the end of its output
};
bool Succeeded(const Step& step);
// Why it did not succeed: "exit status 2", and in a sentence "check `make test`: exit status 2".
std::string FailureReason(const Step& step);
std::string DescribeFailure(const Step& step, size_t command_columns = std::string::npos);

struct ChangedFile {
  std::string kind;  // added, modified, deleted, ...
  uint64_t lines_added = 0;
  uint64_t lines_removed = 0;
};
using Changes = std::map<std::string, ChangedFile>;  // by path

enum class LaneState { kQueued, kRunning, kPassed, kFailed, kCancelled };
const char* StateName(LaneState state);

struct LaneResult {
  std::string name;
  LaneState state = LaneState::kQueued;
  std::vector<Step> steps;
  std::string problem;  // why it could not start or continue, or why it has no score
  std::optional<double> score;
  std::map<std::string, double> scores;
  std::optional<Changes> changes;  // absent: not known
  std::string changes_problem;     // why they are not
  uint64_t violations = 0;
  std::string sandbox;  // id; "" when it was never made
  std::string sandbox_name;
  bool kept = false;
};

double TotalTime(const LaneResult& lane);
double TotalCpu(const LaneResult& lane);
uint64_t PeakMemory(const LaneResult& lane);
uint64_t TotalDenials(const LaneResult& lane);
size_t ChecksPassed(const LaneResult& lane);
struct LineCount {
  uint64_t added = 0;
  uint64_t removed = 0;
};
LineCount CountLines(const Changes& changes);
std::string DescribeProblems(const LaneResult& lane);  // "" = none
// "passed", "failed: check `make test`: exit status 2", "cancelled".
std::string DescribeLane(const LaneResult& lane, size_t command_columns = std::string::npos);

struct Race {
  std::string id;
  std::string when;  // RFC 3339 UTC
  std::vector<Step> setup;
  std::vector<LaneResult> lanes;  // in the order they were named
  size_t checks = 0;
  bool scored = false;
  bool lower_is_better = false;
  size_t jobs = 1;
  double wall_s = 0;  // of the whole race
};

// Numbers are indices into Race::lanes.
struct Verdict {
  std::vector<size_t> order;  // best first
  std::optional<size_t> winner;
  std::vector<size_t> tied;  // the winner among them; empty without a tie
  std::string decided_by;    // only, score, lines, time, order (of a tie); "" without a winner
  std::optional<size_t> nearest_miss;  // when none passed and one at least ran
  std::vector<size_t> as_near;         // others that got as far
};

// Passed lanes first, then score, fewer lines changed, less time. Times this close are noise.
inline constexpr double kTimeNoise = 0.1;         // of the faster one
inline constexpr double kTimeNoiseSeconds = 0.1;  // at least
Verdict Judge(const Race& race);

// One or two sentences: who won and why, or that nobody did and who came nearest.
std::string DescribeVerdict(const Race& race, const Verdict& verdict);

struct Overlap {
  // Paths that more than one lane changed, with those lanes.
  std::map<std::string, std::vector<size_t>> paths;
  // shared[a][b]: paths that both changed; [a][a]: all that a changed; absent: not known.
  std::vector<std::vector<std::optional<size_t>>> shared;
  std::vector<std::optional<size_t>> of_lane;  // its paths that another one changed too
};
Overlap FindOverlap(const Race& race);

}  // namespace cloche::race
