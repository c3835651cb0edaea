#include "race/spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace cloche::race {
namespace {

constexpr size_t kMostNameBytes = 40;

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
}

std::string Quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, IsPlain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Result<Lane> ApproachFromFlag(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size())
    return Fail(Code::kInvalid, fmt::format("--approach {}: not NAME=COMMAND", text),
                "write it like --approach patch='git apply fix.patch'");
  Lane lane{text.substr(0, equals), ShellCommand(text.substr(equals + 1)), {}};
  CLOCHE_TRY(CheckLaneName(lane.name));
  return lane;
}

Status AddCopies(Spec& spec, const SpecFlags& flags) {
  if (flags.agent.empty() && flags.copies == 0) return {};
  if (flags.agent.empty())
    return Fail(Code::kInvalid, "--copies: no command to run",
                "put it after --, e.g. --copies 3 -- agent 'mend the parser'");
  if (flags.copies == 0)
    return Fail(Code::kInvalid, fmt::format("run {}: how many copies?", flags.agent[0]),
                "add --copies N, or use --approach NAME=COMMAND");
  if (flags.agent[0].empty())
    return Fail(Code::kInvalid, "--copies: the command is empty", "put it after --");
  if (flags.copies > kMostLanes)
    return Fail(Code::kInvalid, fmt::format("--copies {}: too many", flags.copies),
                fmt::format("use at most {}", kMostLanes));
  std::ranges::move(Copies({"copy", PlainCommand(flags.agent), {}}, flags.copies),
                    std::back_inserter(spec.lanes));
  return {};
}

Status AddScore(Spec& spec, const SpecFlags& flags) {
  if (!flags.score.empty()) spec.score = ScoreRule{ShellCommand(flags.score), "", false};
  if (flags.score_key.empty() && !flags.lower_is_better) return {};
  if (!spec.score)
    return Fail(Code::kInvalid, "--score-key and --lower-is-better have no meaning without a score",
                "add --score COMMAND");
  if (!flags.score_key.empty()) spec.score->key = flags.score_key;
  if (flags.lower_is_better) spec.score->lower_is_better = true;
  return {};
}

// A fork may have less than its parent, never more. Time and output limit commands, not the
// sandbox, so a lane is free there.
Status CheckNotAbove(const Lane& lane, const Limits& general) {
  const nlohmann::json own = LimitsToJson(lane.limits);
  const nlohmann::json everybody = LimitsToJson(general);
  for (const auto& [name, value] : own.items()) {
    if (name == "wall" || name == "output" || !everybody.contains(name)) continue;
    const double most = everybody[name].get<double>();
    const double wanted = value.get<double>();
    if (most == 0 || (wanted != 0 && wanted <= most)) continue;
    return Fail(Code::kInvalid,
                fmt::format("lane {}: its {} limit is above that of the race", lane.name, name),
                fmt::format("raise {} in [limits] and lower it in the other lanes", name));
  }
  return {};
}

}  // namespace

Command ShellCommand(std::string text) {
  std::vector<std::string> argv = {"sh", "-c", text};
  return {std::move(text), std::move(argv)};
}

Command PlainCommand(std::vector<std::string> argv) {
  std::string text;
  for (const std::string& word : argv) text += (text.empty() ? "" : " ") + Quoted(word);
  return {std::move(text), std::move(argv)};
}

Status CheckLaneName(std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (name.empty() || name.size() > kMostNameBytes || !plain)
    return Fail(Code::kInvalid, fmt::format("lane '{}': not a name", name),
                fmt::format("use 1 to {} of a-z, 0-9 and -", kMostNameBytes));
  if (name == "winner" || name == "none")
    return Fail(Code::kInvalid, fmt::format("lane {}: --pick gives this word a meaning", name),
                "choose another name");
  return {};
}

std::vector<Lane> Copies(const Lane& lane, size_t count) {
  std::vector<Lane> lanes;
  for (size_t i = 1; i <= count; ++i)
    lanes.push_back({fmt::format("{}-{}", lane.name, i), lane.run, lane.limits});
  return lanes;
}

Limits LaneLimits(const Spec& spec, const Lane& lane) {
  return OverLimits(lane.limits, spec.limits);
}

Status AddFlags(Spec& spec, const SpecFlags& flags) {
  for (const std::string& text : flags.approaches) {
    ASSIGN_OR_RETURN(Lane lane, ApproachFromFlag(text));
    spec.lanes.push_back(std::move(lane));
  }
  CLOCHE_TRY(AddCopies(spec, flags));
  for (const std::string& text : flags.setup) spec.setup.push_back(ShellCommand(text));
  for (const std::string& text : flags.checks) spec.checks.push_back(ShellCommand(text));
  CLOCHE_TRY(AddScore(spec, flags));
  spec.limits = OverLimits(flags.limits, spec.limits);
  if (flags.jobs) spec.jobs = flags.jobs;
  if (flags.first_pass && flags.best_of)
    return Fail(Code::kInvalid, "--first-pass and --best-of: give one of them",
                "--first-pass is --best-of 1");
  if (flags.first_pass) spec.enough = 1;
  if (flags.best_of) spec.enough = *flags.best_of;
  if (flags.best_of == 0 || flags.jobs == 0)
    return Fail(Code::kInvalid,
                fmt::format("{} 0: nothing would run", flags.jobs == 0 ? "--jobs" : "--best-of"),
                "use 1 or more");
  return {};
}

Status CheckSpec(const Spec& spec) {
  if (spec.lanes.empty())
    return Fail(Code::kInvalid, "race: there is no lane",
                "name approaches: --approach NAME=COMMAND, --copies N -- COMMAND, or [lane.NAME] "
                "in race.toml");
  if (spec.lanes.size() > kMostLanes)
    return Fail(Code::kInvalid, fmt::format("race: {} lanes are too many", spec.lanes.size()),
                fmt::format("use at most {}", kMostLanes));
  std::set<std::string_view> seen;
  for (const Lane& lane : spec.lanes) {
    CLOCHE_TRY(CheckLaneName(lane.name));
    if (!seen.insert(lane.name).second)
      return Fail(Code::kInvalid, fmt::format("lane {}: there are two of this name", lane.name),
                  "rename one");
    CLOCHE_TRY(CheckNotAbove(lane, spec.limits));
  }
  if (spec.enough > spec.lanes.size())
    return Fail(Code::kInvalid,
                fmt::format("--best-of {}: more than there are lanes, which is {}", spec.enough,
                            spec.lanes.size()),
                "ask for fewer, or leave it out: then all run");
  return {};
}

}  // namespace cloche::race
