#include "cli/race_run.h"

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <utility>

#include "base/rfc3339.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/print.h"
#include "cli/race_display.h"
#include "race/figures.h"
#include "race/score.h"

namespace cloche::cli {
namespace {

using race::LaneResult;
using race::LaneState;
using race::Step;
using race::StepKind;

constexpr double kDefaultWall = 30 * 60;  // of a command, so that every lane ends
constexpr int kRedrawMs = 200;

size_t CpusForUs() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<size_t>(std::max(CPU_COUNT(&set), 1));
}

std::string NewRaceName() {
  constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";
  std::random_device random;
  std::string name = "race-";
  for (int i = 0; i < 5; ++i) name += kLetters[random() % kLetters.size()];
  return name;
}

std::string TimeNow() { return Rfc3339(time(nullptr)); }

class RaceLoop {
 public:
  RaceLoop(const RaceSetting& setting, const SignalWatch& signals, RaceSandboxes& sandboxes)
      : setting_(setting),
        spec_(setting.spec),
        signals_(signals),
        sandboxes_(sandboxes),
        display_(setting.quiet),
        progress_(spec_.lanes.size()),
        running_(spec_.lanes.size()) {
    race::Race& race = outcome_.race;
    race.when = TimeNow();
    race.checks = spec_.checks.size();
    race.scored = spec_.score.has_value();
    race.lower_is_better = spec_.score && spec_.score->lower_is_better;
    race.jobs = std::min(spec_.jobs.value_or(CpusForUs()), spec_.lanes.size());
    for (const race::Lane& lane : spec_.lanes) {
      LaneResult result;
      result.name = lane.name;
      race.lanes.push_back(std::move(result));
    }
  }

  Result<RaceOutcome> Run() {
    CLOCHE_TRY(MakeBase());
    CLOCHE_TRY(SetUp());
    if (!outcome_.left_status && !outcome_.failed_set_up) {
      StopSandbox(base_);
      CLOCHE_TRY(RunLanes());
      if (refusal_ && NothingRan()) return std::unexpected(*refusal_);
      Compare();
    }
    outcome_.race.wall_s = SinceStartMs() / 1e3;
    return std::move(outcome_);
  }

 private:
  Status MakeBase() {
    SandboxFlags flags = setting_.sandbox;
    const bool named = !flags.name.empty();
    for (int attempt = 0;; ++attempt) {
      if (!named) flags.name = NewRaceName();
      ASSIGN_OR_RETURN(Body body, SandboxRequest(flags, setting_.around));
      body["labels"]["race"] = flags.name;
      const Body limits = LimitsToJson(OfSandbox(spec_.limits));
      if (!limits.empty()) body["limits"] = limits;
      const auto made = Call("POST", "/v1/sandboxes", body);
      if (!made && made.error().code == Code::kConflict && !named && attempt < 9) continue;
      if (!made) return std::unexpected(made.error());
      base_ = Text(*made, "id");
      sandboxes_.Add(base_);
      outcome_.race.id = flags.name;
      return {};
    }
  }

  Result<LaneCommand> StartCommand(const std::string& sandbox, const race::Command& command,
                                   const Limits& limits, const std::string& lane) {
    CommandFlags flags;
    flags.argv = command.argv;
    flags.env = setting_.sandbox.env;
    if (!lane.empty()) flags.env.push_back("RACE_LANE=" + lane);
    ASSIGN_OR_RETURN(Body body, CommandRequest(flags, setting_.around));
    body["wall"] = limits.wall.value_or(kDefaultWall);
    if (limits.output) body["output"] = *limits.output;
    return LaneCommand::Start(sandbox, body);
  }

  Status SetUp() {
    for (const race::Command& command : spec_.setup) {
      display_.Note(fmt::format("set-up: {}", command.text));
      ASSIGN_OR_RETURN(LaneCommand running, StartCommand(base_, command, spec_.limits, ""));
      while (!running.ended()) {
        pollfd fds[] = {{signals_.fd(), POLLIN, 0}, {running.fd(), POLLIN, 0}};
        poll(fds, 2, -1);
        if (Interrupted()) return {};
        if (fds[1].revents != 0) running.Receive();
      }
      if (running.lost()) return LostDaemon();
      Step step = running.Outcome(StepKind::kSetup, command.text);
      outcome_.race.setup.push_back(step);
      if (!race::Succeeded(step)) {
        outcome_.failed_set_up = std::move(step);
        return {};
      }
    }
    return {};
  }

  static std::unexpected<Error> LostDaemon() {
    return Fail(Code::kUnavailable, "lost cloched while the race ran", "cloche status");
  }

  bool Interrupted() {
    if (const int number = signals_.Take(); number != 0) outcome_.left_status = 128 + number;
    return outcome_.left_status.has_value();
  }

  Status RunLanes() {
    while (true) {
      CLOCHE_TRY(StartQueued());
      if (Active() == 0) break;
      Redraw();
      std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0}};
      std::vector<size_t> who = {0};
      for (size_t i = 0; i < running_.size(); ++i) {
        if (!running_[i]) continue;
        fds.push_back({running_[i]->fd(), POLLIN, 0});
        who.push_back(i);
      }
      poll(fds.data(), fds.size(), display_.live() ? kRedrawMs : -1);
      if (Interrupted()) return {};
      for (size_t i = 1; i < fds.size(); ++i)
        if (fds[i].revents != 0 && running_[who[i]]) CLOCHE_TRY(Receive(who[i]));
    }
    return {};
  }

  size_t Active() const {
    return static_cast<size_t>(
        std::ranges::count_if(running_, [](const auto& command) { return command.has_value(); }));
  }

  // Starts lanes up to the number at once. A lane that finds no room waits for another to end.
  Status StartQueued() {
    for (size_t i = 0; i < spec_.lanes.size() && Active() < outcome_.race.jobs; ++i) {
      LaneResult& lane = outcome_.race.lanes[i];
      if (lane.state != LaneState::kQueued) continue;
      const std::string name = outcome_.race.id + "-" + lane.name;
      const auto id = ForkForLane(base_, name, OfSandbox(spec_.lanes[i].limits));
      if (!id && id.error().code == Code::kExhausted && Active() > 0) return {};
      if (!id) {
        Refused(i, id.error());
        continue;
      }
      sandboxes_.Add(*id);
      lane.sandbox = *id;
      lane.sandbox_name = name;
      lane.state = LaneState::kRunning;
      began_ms_[i] = SinceStartMs();
      display_.Event(fmt::format("{}: started", lane.name));
      CLOCHE_TRY(StartNext(i));
    }
    return {};
  }

  // The lane's next command, given what it has run: the approach, each check, the score.
  struct Next {
    StepKind kind;
    const race::Command* command;
  };
  std::optional<Next> NextOf(size_t index) const {
    const size_t done = outcome_.race.lanes[index].steps.size();
    if (done == 0) return Next{StepKind::kApproach, &spec_.lanes[index].run};
    if (done <= spec_.checks.size()) return Next{StepKind::kCheck, &spec_.checks[done - 1]};
    if (done == spec_.checks.size() + 1 && spec_.score)
      return Next{StepKind::kScore, &spec_.score->command};
    return std::nullopt;
  }

  Status StartNext(size_t index) {
    LaneResult& lane = outcome_.race.lanes[index];
    const std::optional<Next> next = NextOf(index);
    if (!next) {
      End(index, LaneState::kPassed, lane.problem);
      return {};
    }
    progress_[index].doing =
        fmt::format("{}{}: {}", StepName(next->kind),
                    next->kind == StepKind::kCheck && spec_.checks.size() > 1
                        ? fmt::format(" {} of {}", lane.steps.size(), spec_.checks.size())
                        : "",
                    next->command->text);
    auto command = StartCommand(lane.sandbox, *next->command,
                                race::LaneLimits(spec_, spec_.lanes[index]), lane.name);
    if (!command) {
      Refused(index, command.error());
      return {};
    }
    running_[index] = *std::move(command);
    return running_[index]->ended() ? Finish(index) : Status();
  }

  // Cloche could not do it, which says nothing about the approach.
  void Refused(size_t index, const Error& error) {
    if (!refusal_) refusal_ = error;
    End(index, LaneState::kFailed, error.message);
  }

  bool NothingRan() const {
    return std::ranges::all_of(outcome_.race.lanes,
                               [](const LaneResult& lane) { return lane.steps.empty(); });
  }

  Status Receive(size_t index) {
    running_[index]->Receive();
    return running_[index]->ended() ? Finish(index) : Status();
  }

  // One command of the lane is over.
  Status Finish(size_t index) {
    const LaneCommand command = *std::exchange(running_[index], std::nullopt);
    if (command.lost()) return LostDaemon();
    LaneResult& lane = outcome_.race.lanes[index];
    const Next next = *NextOf(index);
    lane.steps.push_back(command.Outcome(next.kind, next.command->text));
    const Step& step = lane.steps.back();
    if (next.kind == StepKind::kScore) {
      TakeScore(lane, step, command.printed());
    } else if (!race::Succeeded(step)) {
      End(index, LaneState::kFailed, "");
      return {};
    }
    return StartNext(index);
  }

  // Without a score a lane has passed all the same: the checks decide.
  void TakeScore(LaneResult& lane, const Step& step, const std::string& printed) {
    if (!race::Succeeded(step)) {
      lane.problem = race::DescribeFailure(step);
      return;
    }
    auto score = race::ReadScore(printed, spec_.score->key);
    if (!score) {
      lane.problem = score.error().message;
      return;
    }
    lane.score = score->value;
    lane.scores = std::move(score->others);
  }

  void End(size_t index, LaneState state, const std::string& problem) {
    LaneResult& lane = outcome_.race.lanes[index];
    running_[index].reset();
    lane.state = state;
    lane.problem = problem;
    if (!lane.sandbox.empty()) {
      // Processes it left running would slow the others down.
      StopSandbox(lane.sandbox);
      progress_[index].elapsed_s = (SinceStartMs() - began_ms_[index]) / 1e3;
    }
    display_.Event(fmt::format("{}: {}{}", lane.name, race::DescribeLane(lane),
                               lane.steps.empty() ? "" : " after " + race::TimeOf(lane)));
    if (state == LaneState::kPassed && ++passes_ == spec_.enough) CancelRest();
  }

  void CancelRest() {
    for (size_t i = 0; i < spec_.lanes.size(); ++i) {
      const LaneState state = outcome_.race.lanes[i].state;
      if (state == LaneState::kQueued || state == LaneState::kRunning)
        End(i, LaneState::kCancelled, "");
    }
  }

  void Redraw() {
    if (SinceStartMs() - drawn_ms_ < kRedrawMs / 2.0) return;  // a lane that floods
    drawn_ms_ = SinceStartMs();
    for (size_t i = 0; i < running_.size(); ++i)
      if (running_[i]) progress_[i].elapsed_s = (SinceStartMs() - began_ms_[i]) / 1e3;
    display_.Draw(outcome_.race.lanes, progress_);
  }

  // After the last lane, so that it slows down none.
  void Compare() {
    if (outcome_.left_status) return;
    display_.Clear();
    for (LaneResult& lane : outcome_.race.lanes) {
      if (lane.sandbox.empty()) continue;
      if (Interrupted()) return;
      lane.violations = CountViolations(lane.sandbox);
      auto changes = FetchChanges(lane.sandbox, base_);
      if (changes)
        lane.changes = *std::move(changes);
      else
        lane.changes_problem = "its changes are not known: " + changes.error().message;
    }
  }

  const RaceSetting& setting_;
  const race::Spec& spec_;
  const SignalWatch& signals_;
  RaceSandboxes& sandboxes_;
  RaceDisplay display_;
  RaceOutcome outcome_;
  std::string base_;
  size_t passes_ = 0;
  double drawn_ms_ = 0;
  std::optional<Error> refusal_;  // the first
  // By lane.
  std::vector<race::LaneProgress> progress_;
  std::vector<std::optional<LaneCommand>> running_;
  std::vector<double> began_ms_ = std::vector<double>(running_.size());
};

}  // namespace

Result<RaceOutcome> RunRace(const RaceSetting& setting, const SignalWatch& signals,
                            RaceSandboxes& sandboxes) {
  return RaceLoop(setting, signals, sandboxes).Run();
}

}  // namespace cloche::cli
