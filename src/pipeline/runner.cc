#include "pipeline/runner.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/sandbox_view.h"
#include "pipeline/request.h"

namespace cloche::pipeline {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookMs = 100;  // somebody else may have written into the journal
constexpr size_t kShownLog = 4 << 10;

}  // namespace

void Runner::Say(const std::string& line) const {
  if (!options_.quiet) cli::WriteAll(STDERR_FILENO, "cloche: " + line + "\n");
}

void Runner::ShowLog(const Finding& finding) const {
  if (options_.quiet) return;
  std::string text = journal_.ReadLog(finding.log, kShownLog);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  cli::WriteAll(STDERR_FILENO, cli::LinesForTerminal(text));
  Say(fmt::format("all of it: {}/{}", journal_.path(), finding.log));
}

// On disk, and in memory.
Status Runner::Note(size_t stage, const char* step, const char* state, const Json& more) {
  Json line = {{"stage", run_.stages[stage].name}, {"step", step}, {"state", state}, {"at", Now()}};
  line.update(more);
  CLOCHE_TRY(journal_.Append(line));
  return Reread();
}

Status Runner::Reread() {
  const off_t size = journal_.size();
  if (size == seen_) return {};
  ASSIGN_OR_RETURN(const std::vector<Json> lines, journal_.Read());
  ASSIGN_OR_RETURN(std::optional<Run> run, Replay(lines));
  if (!run || run->number != run_.number)
    return Fail(Code::kConflict, "pipeline: somebody else began another run meanwhile", "");
  // The stages stay: they never change, and watches refer to them.
  run_.progress = std::move(run->progress);
  run_.cancel_asked = run->cancel_asked;
  run_.snapshot = run->snapshot;
  run_.rollback_from = run->rollback_from;
  run_.ended = run->ended;
  run_.why = run->why;
  seen_ = size;
  return {};
}

Status Runner::End(const std::string& how, const std::string& why) {
  CLOCHE_TRY(journal_.Append({{"ended", how}, {"why", why}, {"at", Now()}}));
  CLOCHE_TRY(Reread());
  DropState(run_.snapshot);
  return {};
}

Result<bool> Runner::LookAtHealth() {
  for (auto watch = watches_.begin(); watch != watches_.end();) {
    const size_t stage = watch->stage();
    ASSIGN_OR_RETURN(const bool wrong, watch->Look());
    if (wrong) {
      const Finding finding = watch->finding();
      why_ = fmt::format("health of {}: `{}` ended with {}", run_.stages[stage].name,
                         EscapeForTerminal(finding.command), finding.status);
      Say(why_);
      ShowLog(finding);
      watches_.erase(watch);
      unhealthy_ = stage;
      CLOCHE_TRY(Note(stage, "health", "failed", {{"results", Json::array({ToJson(finding)})}}));
      return true;
    }
    if (!watch->over()) {
      ++watch;
      continue;
    }
    const size_t rounds = watch->rounds();
    watch = watches_.erase(watch);
    CLOCHE_TRY(Note(stage, "health", "done", {{"rounds", rounds}}));
    Say(fmt::format("{}: healthy, asked {} time{}", run_.stages[stage].name, rounds,
                    rounds == 1 ? "" : "s"));
  }
  return false;
}

Result<Went> Runner::Wait(const Waiting& what) {
  const auto approval = [&] {
    return std::ranges::count_if(
        run_.progress, [](const StageProgress& each) { return !each.approved_subject().empty(); });
  };
  const auto approved_before = approval();
  for (;;) {
    ASSIGN_OR_RETURN(const bool wrong, LookAtHealth());
    if (wrong) return Went::kUnhealthy;
    CLOCHE_TRY(Reread());
    if (run_.cancel_asked && what.cancellable) return Went::kCancelled;
    if (what.approval && approval() != approved_before) return Went::kOn;
    if (what.watches && watches_.empty()) return Went::kOn;
    int patience = kLookMs;
    if (what.until) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(*what.until - Clock::now()).count();
      if (left <= 0) return Went::kOn;
      patience = static_cast<int>(std::min<long>(patience, left));
    }
    std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0}};
    if (what.child) fds.push_back({what.child->fd(), POLLIN, 0});
    if (what.standard_input) fds.push_back({STDIN_FILENO, POLLIN, 0});
    for (const HealthWatch& watch : watches_)
      if (const auto interest = watch.Interest()) fds.push_back(*interest);
    poll(fds.data(), fds.size(), patience);
    if (const int signal = signals_.Take(); signal != 0) {
      left_status_ = 128 + signal;
      return Went::kLeft;
    }
    const bool happened = fds.size() > 1 && fds[1].revents != 0;
    if ((what.child || what.standard_input) && happened) return Went::kOn;
  }
}

// A command of a killed run may still be at work.
Status Runner::WaitForOrphan() {
  for (const StageProgress& each : run_.progress)
    for (const char* step : {"deploy", "rollback"}) {
      const auto found = each.steps.find(step);
      if (found == each.steps.end() || each.StateOf(step) != "begun") continue;
      const auto pid = static_cast<pid_t>(cli::Number(found->second, "pid"));
      const auto started = found->second.value("started", uint64_t{0});
      if (pid <= 0 || started == 0 || StartOf(pid) != started) continue;
      Say(fmt::format("the {} of an earlier run still runs (pid {}): waiting for it", step, pid));
      while (StartOf(pid) == started) {
        poll(nullptr, 0, kLookMs);
        if (const int signal = signals_.Take(); signal != 0)
          return Fail(Code::kConflict, "pipeline: interrupted", "cloche pipeline SANDBOX run");
      }
    }
  return {};
}

void Runner::ResumeWatches() {
  for (size_t i = 0; i < run_.stages.size(); ++i) {
    if (run_.progress[i].StateOf("health") != "begun") continue;
    const auto until = WallClock::from_time_t(
        static_cast<time_t>(cli::Number(run_.progress[i].steps.at("health"), "until")));
    watches_.emplace_back(i, run_.stages[i], until, place_, journal_);
  }
}

Result<Went> Runner::RunStage(size_t stage) {
  const project::Stage& what = run_.stages[stage];
  const auto step = [&](bool wanted, const char* name,
                        Result<Went> (Runner::*run)(size_t)) -> Result<Went> {
    if (!wanted || run_.progress[stage].Done(name)) return Went::kOn;
    CLOCHE_TRY(Reread());
    if (run_.cancel_asked && run != &Runner::Check) return Went::kCancelled;
    // It was known before a crash, and is not tried again.
    if (const std::string state = run_.progress[stage].StateOf(name);
        state == "failed" || state == "conflict") {
      why_ = fmt::format("{} of {} failed", name, what.name);
      return state == "failed" ? Went::kFailed : Went::kConflict;
    }
    return (this->*run)(stage);
  };
  CLOCHE_TRY(Reread());
  if (run_.cancel_asked) return Went::kCancelled;
  ASSIGN_OR_RETURN(Went went, step(!what.verify.empty(), "verify", &Runner::Verify));
  if (went != Went::kOn) return went;
  if (run_.progress[stage].StateOf("apply") == "begun") CLOCHE_TRY(Adopt(stage));
  const bool under_way = run_.progress[stage].Done("apply") || run_.progress[stage].Done("deploy");
  if (what.ChangesReality() && !under_way) {
    ASSIGN_OR_RETURN(went, Approve(stage));
    if (went != Went::kOn) return went;
  }
  for (const auto& [wanted, name, run] :
       {std::tuple{what.apply.has_value(), "apply", &Runner::Apply},
        std::tuple{!what.check.empty(), "check", &Runner::Check},
        std::tuple{!what.deploy.empty(), "deploy", &Runner::Deploy}}) {
    ASSIGN_OR_RETURN(went, step(wanted, name, run));
    if (went != Went::kOn) return went;
  }
  if (!what.health.empty() && run_.progress[stage].StateOf("health").empty())
    CLOCHE_TRY(BeginHealth(stage));
  return Went::kOn;
}

Result<Went> Runner::WatchToTheEnd() {
  if (!watches_.empty()) Say("watching until the last health check is over");
  Waiting all;
  all.watches = true;
  return Wait(all);
}

Result<Went> Runner::Settle(size_t stage, Went went) {
  switch (went) {
    case Went::kWaiting:
    case Went::kLeft:
      return went;
    case Went::kCancelled:
      CLOCHE_TRY(End("cancelled", why_.empty() ? "its owner cancelled it" : why_));
      return went;
    case Went::kUnhealthy:
      return RollBack(unhealthy_, why_);
    case Went::kFailed:
      if (run_.progress[stage].ChangedReality()) return RollBack(stage, why_);
      break;
    default:
      break;
  }
  // Earlier stages stand. They are watched for as long as they are to be.
  const std::string why = why_;
  ASSIGN_OR_RETURN(const Went watched, WatchToTheEnd());
  if (watched == Went::kUnhealthy) return RollBack(unhealthy_, why_);
  if (watched == Went::kLeft) return watched;
  CLOCHE_TRY(End("failed", why));
  why_ = why;
  return went;
}

Result<Went> Runner::RunStages() {
  for (size_t i = 0; i < run_.stages.size(); ++i) {
    ASSIGN_OR_RETURN(const Went went, RunStage(i));
    if (went != Went::kOn) return Settle(i, went);
  }
  ASSIGN_OR_RETURN(const Went went, WatchToTheEnd());
  if (went != Went::kOn) return Settle(run_.stages.size() - 1, went);
  CLOCHE_TRY(End("done", ""));
  return Went::kOn;
}

Result<Went> Runner::Go() {
  CLOCHE_TRY(Reread());
  RemoveCopies(run_);
  CLOCHE_TRY(WaitForOrphan());
  if (!run_.rollback_from.empty()) {
    why_ = run_.why;
    return RollBackStages(run_.IndexOf(run_.rollback_from).value_or(0));
  }
  if (run_.snapshot.empty()) {
    ASSIGN_OR_RETURN(const std::string snapshot, SaveState(run_.sandbox, run_.number));
    CLOCHE_TRY(journal_.Append({{"snapshot", snapshot}, {"at", Now()}}));
    CLOCHE_TRY(Reread());
  }
  for (size_t i = 0; i < run_.stages.size(); ++i)
    if (run_.progress[i].StateOf("health") == "failed")
      return RollBack(i, "health of " + run_.stages[i].name);
  ResumeWatches();
  return RunStages();
}

Result<Went> Runner::TakeBack(size_t from) {
  CLOCHE_TRY(Reread());
  RemoveCopies(run_);
  CLOCHE_TRY(WaitForOrphan());
  return RollBack(from, "its owner took it back");
}

Result<Went> Runner::RollBack(size_t from, const std::string& why) {
  why_ = why;
  CLOCHE_TRY(
      journal_.Append({{"rollback_from", run_.stages[from].name}, {"why", why}, {"at", Now()}}));
  CLOCHE_TRY(Reread());
  return RollBackStages(from);
}

Result<Went> Runner::RollBackStages(size_t from) {
  const std::string why = why_;
  std::erase_if(watches_, [&](const HealthWatch& watch) { return watch.stage() >= from; });
  bool all = true;
  for (size_t i = run_.stages.size(); i-- > from;) {
    if (!run_.progress[i].ChangedReality() || run_.progress[i].Done("rollback")) continue;
    ASSIGN_OR_RETURN(const Went went, RollBackStage(i));
    if (went == Went::kLeft) return went;
    all &= went == Went::kOn;
  }
  // Stages that stand are still watched; an unhealthy one is rolled back, too.
  ASSIGN_OR_RETURN(const Went watched, WatchToTheEnd());
  if (watched == Went::kLeft) return watched;
  if (watched == Went::kUnhealthy) return RollBack(unhealthy_, why_);
  why_ = why + (all ? "" : "; not all of it could be taken back");
  CLOCHE_TRY(End(all ? "rolled_back" : "failed", why_));
  return Went::kFailed;
}

// First the deployment, then the files: the reverse of the order in which they came.
Result<Went> Runner::RollBackStage(size_t stage) {
  const project::Stage& what = run_.stages[stage];
  Json results = Json::array();
  std::string problem;
  if (run_.progress[stage].StateOf("apply") == "begun") CLOCHE_TRY(Adopt(stage));
  const std::string promotion = run_.progress[stage].promotion();
  Say(fmt::format("{}: taking it back", what.name));
  if (!run_.progress[stage].StateOf("deploy").empty()) {
    if (what.rollback.empty()) {
      CLOCHE_TRY(Note(stage, "rollback", "begun"));
      problem = "it has no rollback command";
    } else {
      Finding finding{what.rollback, 0, 0, what.name + "-rollback.log"};
      ASSIGN_OR_RETURN(const Went went,
                       RunOne(stage, "rollback", OnHost(place_, what.rollback), finding));
      if (went == Went::kLeft) return went;
      results.push_back(ToJson(finding));
      if (finding.status != 0)
        problem =
            fmt::format("`{}` ended with {}", EscapeForTerminal(what.rollback), finding.status);
    }
  } else {
    CLOCHE_TRY(Note(stage, "rollback", "begun"));
  }
  if (!promotion.empty())
    if (const Status undone = UndoPromotion(place_.home, promotion); !undone)
      problem += (problem.empty() ? "" : "; ") + undone.error().message;
  CLOCHE_TRY(Note(stage, "rollback", problem.empty() ? "done" : "failed",
                  {{"results", std::move(results)}, {"why", problem}}));
  Say(fmt::format("{}: {}", what.name,
                  problem.empty() ? "taken back" : "not taken back: " + problem));
  return problem.empty() ? Went::kOn : Went::kFailed;
}

}  // namespace cloche::pipeline
