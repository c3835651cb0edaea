#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/limits.h"

namespace cloche::race {

// The specification of a race: from race.toml (docs/race.md), from flags, or both.

struct Command {
  std::string text;               // as it is shown
  std::vector<std::string> argv;  // as it is run
  bool operator==(const Command&) const = default;
};
Command ShellCommand(std::string text);
Command PlainCommand(std::vector<std::string> argv);

struct Lane {
  std::string name;
  Command run;
  Limits limits;  // what this lane has of its own
};

struct ScoreRule {
  Command command;
  std::string key;  // which number of several decides; "" = see score.h
  bool lower_is_better = false;
};

struct Spec {
  std::vector<Command> setup;
  std::vector<Command> checks;
  std::optional<ScoreRule> score;
  std::vector<Lane> lanes;
  Limits limits;               // of every lane
  std::optional<size_t> jobs;  // lanes at once
  size_t enough = 0;           // passes after which the rest is cancelled; 0 = all run
};

inline constexpr size_t kMostLanes = 256;
inline constexpr size_t kMostFileBytes = 1 << 20;

// `file` is how errors name it. Needs no lanes yet: flags may bring them.
Result<Spec> ReadSpec(std::string_view toml, const std::string& file);

// As typed. Lists add to what the file has, the rest replaces it.
struct SpecFlags {
  std::vector<std::string> approaches;  // NAME=COMMAND
  std::vector<std::string> setup;
  std::vector<std::string> checks;
  std::string score;
  std::string score_key;
  bool lower_is_better = false;
  size_t copies = 0;
  std::vector<std::string> agent;  // what the copies run
  std::optional<size_t> jobs;
  bool first_pass = false;
  std::optional<size_t> best_of;
  Limits limits;
};
Status AddFlags(Spec& spec, const SpecFlags& flags);

// Checks all of it: lanes exist, names are unique, no lane's limit is above everybody's.
Status CheckSpec(const Spec& spec);

// 1 to 40 of [a-z0-9-], and not a word of --pick.
Status CheckLaneName(std::string_view name);

// N lanes NAME-1 to NAME-N.
std::vector<Lane> Copies(const Lane& lane, size_t count);

// The lane's own limits where it has them, else everybody's.
Limits LaneLimits(const Spec& spec, const Lane& lane);

}  // namespace cloche::race
