#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/defaults.h"
#include "cli/helper_process.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/race_api.h"
#include "cli/race_run.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/surroundings.h"
#include "policy/network_presets.h"
#include "race/html.h"
#include "race/json.h"
#include "race/table.h"

namespace cloche::cli {
namespace {

constexpr const char* kDefaultRaceFile = "race.toml";

constexpr const char* kRaceDescription =
    "Runs several approaches at once, each in a sandbox of its own, checks and compares them, and\n"
    "keeps the best. FILE is a race.toml (docs/race.md); without FILE and approaches it is\n"
    "./race.toml.\n"
    "\n"
    "  cloche race --check 'make test' --approach patch='git apply fix.patch' \\\n"
    "      --approach rollback='git revert --no-edit HEAD'\n"
    "  cloche race --copies 3 --check 'make test' --first-pass -- agent 'mend the parser'\n"
    "  cloche race --setup 'make' --check 'make test' --score './measure' --lower-is-better \\\n"
    "      --report race.html race.toml\n"
    "\n"
    "Each lane runs its approach, then the checks until one fails, then the score. It passed when\n"
    "all of them ended with 0. Inside, $RACE_LANE is the lane's name.";

struct RaceFlags {
  std::string file;
  race::SpecFlags spec;
  SandboxFlags sandbox;
  std::string pick;
  std::string report;
  std::string promote;
  bool yes = false, allow_triggers = false;
  bool keep_all = false;
  bool json = false;
  bool quiet = false;
};

void AddRaceFlags(CLI::App& app, RaceFlags& flags) {
  app.add_option("FILE", flags.file, "the race file");
  AddList(app, "--approach", flags.spec.approaches, "a lane: its name and its command line",
          "NAME=COMMAND");
  app.add_option("--copies", flags.spec.copies, "so many lanes run the command after --")
      ->type_name("N");
  AddList(app, "--setup", flags.spec.setup, "run this once, before the lanes begin", "COMMAND");
  AddList(app, "--check", flags.spec.checks, "what a lane must pass; all of them", "COMMAND");
  app.add_option("--score", flags.spec.score, "prints a number, or JSON with several")
      ->type_name("COMMAND");
  app.add_option("--score-key", flags.spec.score_key, "which number of several decides")
      ->type_name("NAME");
  app.add_flag("--lower-is-better", flags.spec.lower_is_better, "the lowest score wins");
  app.add_option("--jobs", flags.spec.jobs, "lanes at once; default: one for each CPU")
      ->type_name("N");
  app.add_flag("--first-pass", flags.spec.first_pass, "stop the others when one has passed");
  app.add_option("--best-of", flags.spec.best_of, "stop the others when N have passed")
      ->type_name("N");
  app.add_option("--pick", flags.pick, "what is kept: winner (default), none, or a lane's name")
      ->type_name("LANE");
  app.add_option("--promote", flags.promote,
                 "winner: apply what it changed to reality, as cloche promote does")
      ->type_name("winner");
  app.add_flag("-y,--yes", flags.yes, "with --promote: do not ask, but for triggers");
  app.add_flag("--allow-triggers", flags.allow_triggers,
               "with --promote: take over what makes something run later, too");
  app.add_flag("--keep-all", flags.keep_all, "keep the sandboxes of all lanes");
  app.add_option("--report", flags.report, "write a report as one HTML file")->type_name("FILE");
  app.add_flag("-q,--quiet", flags.quiet, "no progress");
  AddJsonFlag(app, flags.json);
  AddSandboxFlags(app, flags.sandbox);
}

Result<std::string> ReadRaceFile(const std::string& path) {
  const sys::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  ssize_t count = fd.valid() ? 1 : -1;
  while (count > 0 && text.size() <= race::kMostFileBytes) {
    char buffer[16 * 1024];
    count = read(fd.get(), buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
  }
  if (count < 0)
    return Fail(Code::kInvalid, fmt::format("read {}: {}", path, strerror(errno)),
                "name a race file, or give approaches: --approach NAME=COMMAND");
  return text;
}

Result<race::Spec> ReadRaceSpec(RaceFlags& flags) {
  ASSIGN_OR_RETURN(const Body limits, LimitsBody(flags.sandbox.limits));
  ASSIGN_OR_RETURN(flags.spec.limits, ParseLimits(limits));
  flags.sandbox.limits.clear();

  const bool by_flags = !flags.spec.approaches.empty() || !flags.spec.agent.empty();
  race::Spec spec;
  if (!flags.file.empty() || !by_flags) {
    const std::string path = flags.file.empty() ? kDefaultRaceFile : flags.file;
    ASSIGN_OR_RETURN(const std::string text, ReadRaceFile(path));
    ASSIGN_OR_RETURN(spec, race::ReadSpec(text, path));
  }
  CLOCHE_TRY(race::AddFlags(spec, flags.spec));
  CLOCHE_TRY(race::CheckSpec(spec));
  return spec;
}

Status CheckRaceFlags(const RaceFlags& flags, const race::Spec& spec) {
  if (!flags.sandbox.rw.empty() || !flags.sandbox.out.empty())
    return Fail(
        Code::kInvalid,
        fmt::format("--{}: all lanes would write there", flags.sandbox.rw.empty() ? "out" : "rw"),
        "leave it out; cloche exec fetches what a lane wrote");
  const auto is_picked = [&](const race::Lane& lane) { return lane.name == flags.pick; };
  if (!flags.pick.empty() && flags.pick != "winner" && flags.pick != "none" &&
      std::ranges::none_of(spec.lanes, is_picked))
    return Fail(Code::kInvalid, fmt::format("--pick {}: there is no such lane", flags.pick),
                "name a lane, winner or none");
  if (!flags.promote.empty() && flags.promote != "winner")
    return Fail(Code::kInvalid, fmt::format("--promote {}: it is not winner", flags.promote),
                "any other lane is kept with --pick LANE, then: cloche promote");
  const bool asks = std::ranges::any_of(flags.sandbox.allow, IsAnyHostRule);
  if (flags.promote.empty() ? (flags.yes && !asks) || flags.allow_triggers : flags.pick == "none")
    return Fail(Code::kInvalid,
                flags.promote.empty() ? "--yes, --allow-triggers: there is no --promote"
                                      : "--promote: --pick none keeps no winner",
                "give both --promote winner and what it needs");
  for (const race::Lane& lane : spec.lanes)
    if (!flags.sandbox.name.empty() && !IsValidSandboxName(flags.sandbox.name + "-" + lane.name))
      return Fail(Code::kInvalid,
                  fmt::format("--name {}: with the lane's name, {}, it is not a name of a sandbox",
                              flags.sandbox.name, lane.name),
                  "use a-z, 0-9 and -, starting with a letter, 63 in all");
  return {};
}

// Opened before the race: a report that cannot be written afterwards would be lost.
Result<sys::Fd> OpenReport(const std::string& path) {
  if (path.empty()) return sys::Fd();
  sys::Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid())
    return Fail(Code::kInvalid, fmt::format("write {}: {}", path, strerror(errno)),
                "name a file that can be written");
  return fd;
}

bool WriteReport(const sys::Fd& fd, std::string_view html) {
  if (ftruncate(fd.get(), 0) != 0 && errno != EINVAL) return false;  // EINVAL: a pipe
  while (!html.empty()) {
    const ssize_t written = write(fd.get(), html.data(), html.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    html.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int FailSetUp(const race::Step& step, bool json) {
  const Error error = {Code::kInvalid, race::DescribeFailure(step),
                       "mend the set-up; no lane was started"};
  if (json) {
    PrintJson({{"error", ErrorJson(error)}, {"setup", race::StepJson(step)}});
  } else {
    WriteAll(STDERR_FILENO, step.tail);
    PrintError(error);
  }
  return kOwnFailure;
}

void KeepPicked(const RaceFlags& flags, const race::Verdict& verdict, race::Race& race,
                RaceSandboxes& sandboxes) {
  for (size_t i = 0; i < race.lanes.size(); ++i) {
    race::LaneResult& lane = race.lanes[i];
    const bool picked = flags.pick.empty() || flags.pick == "winner" ? verdict.winner == i
                                                                     : flags.pick == lane.name;
    const bool promoted = !flags.promote.empty() && verdict.winner == i;
    lane.kept = !lane.sandbox.empty() && (flags.keep_all || picked || promoted);
    if (lane.kept) sandboxes.Keep(lane.sandbox);
  }
}

// The last lines: how to continue.
std::string DescribeKept(const RaceFlags& flags, const race::Race& race,
                         const race::Verdict& verdict) {
  std::string text;
  for (const size_t index : verdict.order) {
    const race::LaneResult& lane = race.lanes[index];
    if (lane.kept)
      text +=
          fmt::format("cloche: {0} is kept as {1}; look: cloche diff {1}; use: cloche shell {1}\n",
                      lane.name, lane.sandbox_name);
    if (flags.pick == lane.name && lane.sandbox.empty())
      text += fmt::format("cloche: {} was never started: there is nothing to keep\n", lane.name);
  }
  if (text.empty() && !verdict.winner)
    text = "cloche: nothing is kept; --keep-all or --pick LANE keeps what failed\n";
  return text;
}

std::vector<std::string> PromoteArguments(const RaceFlags& flags, const race::LaneResult& winner) {
  std::vector<std::string> words = {winner.sandbox_name};
  if (flags.yes) words.emplace_back("--yes");
  if (flags.allow_triggers) words.emplace_back("--allow-triggers");
  return words;
}

// Runs that command itself, with the same questions.
int PromoteWinner(const RaceFlags& flags, const race::LaneResult& winner) {
  std::vector<std::string> words = PromoteArguments(flags, winner);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return Promote(arguments);
}

// The same, as a part of one answer.
Json PromoteForJson(const RaceFlags& flags, const race::LaneResult& winner) {
  std::vector<std::string> words = PromoteArguments(flags, winner);
  words.insert(words.begin(), "promote");
  words.emplace_back("--json");
  auto helper = HelperProcess::Start("cloche", std::move(words));
  if (!helper) return {{"error", ErrorJson(helper.error())}};
  Json answer = Json::parse(helper->ReadLine(), nullptr, false);
  if (answer.is_object()) return answer;
  return {{"error", ErrorJson({Code::kInternal, "cloche promote gave no answer", ""})}};
}

int PromotedStatus(const Json& promotion) {
  if (const Json& error = Field(promotion, "error"); error.is_object())
    return ExitStatus(ErrorFromJson(error).code);
  return Field(promotion, "conflicts").empty() ? 0 : ExitStatus(Code::kConflict);
}

int TellRace(const RaceFlags& flags, RaceOutcome outcome, const sys::Fd& report,
             RaceSandboxes& sandboxes) {
  race::Race& race = outcome.race;
  const race::Verdict verdict = race::Judge(race);
  const race::Overlap overlap = race::FindOverlap(race);
  KeepPicked(flags, verdict, race, sandboxes);
  sandboxes.RemoveAll();
  const bool promotes = !flags.promote.empty() && verdict.winner;
  int promoted = 0;
  bool written = true;
  if (report.valid()) written = WriteReport(report, race::HtmlReport(race, verdict, overlap));
  if (flags.json) {
    Json json = race::RaceJson(race, verdict, overlap);
    if (promotes) {
      json["promotion"] = PromoteForJson(flags, race.lanes[*verdict.winner]);
      promoted = PromotedStatus(json["promotion"]);
    }
    PrintJson(json);
  } else {
    WriteAll(STDOUT_FILENO,
             race::ComparisonTable(race, verdict, overlap, ColourWanted(STDOUT_FILENO)));
  }
  if (!written) {
    PrintError({Code::kInternal, fmt::format("write {}: {}", flags.report, strerror(errno)), ""});
    return kOwnFailure;
  }
  if (!flags.json && !flags.quiet) WriteAll(STDERR_FILENO, DescribeKept(flags, race, verdict));
  if (promotes && !flags.json) promoted = PromoteWinner(flags, race.lanes[*verdict.winner]);
  return verdict.winner ? promoted : 1;
}

}  // namespace

int Race(Arguments arguments) {
  RaceFlags flags;
  CLI::App app(kRaceDescription, "cloche race");
  AddRaceFlags(app, flags);
  const auto dashes = std::ranges::find_if(
      arguments, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes != arguments.end()) flags.spec.agent.assign(dashes + 1, arguments.end());
  const auto before = static_cast<size_t>(dashes - arguments.begin());
  if (auto status = Parse(app, "[FILE] [-- COMMAND [ARGUMENT...]]", arguments.first(before)))
    return *status;

  auto spec = ReadRaceSpec(flags);
  if (!spec) return PrintError(spec.error(), flags.json);
  if (auto fine = CheckRaceFlags(flags, *spec); !fine) return PrintError(fine.error(), flags.json);
  // Once, not for every lane.
  if (auto meant = ConfirmAnyHost(flags.sandbox.allow, flags.yes, flags.json); !meant)
    return PrintError(meant.error(), flags.json);
  flags.sandbox.yes = true;
  const auto report = OpenReport(flags.report);
  if (!report) return PrintError(report.error(), flags.json);
  auto around = ReadSurroundings();
  if (!around) return FailSession(around.error(), flags.json);
  if (const auto read = ReadProjectFile(*around); !read)
    return FailSession(read.error(), flags.json);
  if (const auto taken = TakeDefaults(flags.sandbox, *around, {true, flags.json, flags.quiet});
      !taken)
    return FailSession(taken.error(), flags.json);

  const SignalWatch signals;
  RaceSandboxes sandboxes;  // removed while signals wait
  auto outcome = RunRace({*std::move(spec), flags.sandbox, *std::move(around),
                          flags.quiet || (flags.json && !isatty(STDERR_FILENO))},
                         signals, sandboxes);
  if (!outcome) return FailSession(outcome.error(), flags.json);
  if (outcome->left_status) return *outcome->left_status;
  if (outcome->failed_set_up) return FailSetUp(*outcome->failed_set_up, flags.json);
  return TellRace(flags, *std::move(outcome), *report, sandboxes);
}

}  // namespace cloche::cli
