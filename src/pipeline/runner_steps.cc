#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/ask.h"
#include "pipeline/request.h"
#include "pipeline/runner.h"

namespace cloche::pipeline {
namespace {

using Clock = std::chrono::steady_clock;
using cli::Field;
using cli::Text;

}  // namespace

// Written to the journal before it begins, with what distinguishes it from other processes.
Result<Went> Runner::RunOne(size_t stage, const char* step, Launch launch, Finding& finding) {
  const project::Stage& what = run_.stages[stage];
  ASSIGN_OR_RETURN(const sys::Fd log, journal_.OpenLog(finding.log));
  launch.log = log.get();
  launch.variables = {"CLOCHE_PIPELINE_SANDBOX=" + run_.sandbox,
                      "CLOCHE_PIPELINE_STAGE=" + what.name,
                      "CLOCHE_PIPELINE_ENVIRONMENT=" + what.environment};
  ASSIGN_OR_RETURN(Child child, Child::Prepare(launch));
  const std::string name = step;
  if (name == "deploy" || name == "rollback")
    CLOCHE_TRY(Note(stage, step, "begun",
                    {{"pid", child.pid()},
                     {"started", StartOf(child.pid())},
                     {"restore", name == "deploy" ? what.rollback : ""}}));
  Say(fmt::format("{}: {}: {}", what.name, step, EscapeForTerminal(finding.command)));
  const auto began = Clock::now();
  child.LetGo();
  Waiting end;
  end.child = &child;
  end.cancellable = name == "verify";
  ASSIGN_OR_RETURN(const Went went, Wait(end));
  finding.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  if (went != Went::kOn) {
    child.End();
    return went;
  }
  finding.status = child.Wait();
  return Went::kOn;
}

Result<Went> Runner::RunAll(size_t stage, const char* step,
                            const std::vector<std::string>& commands, Where where,
                            const std::string& sandbox) {
  Json results = Json::array();
  for (size_t i = 0; i < commands.size(); ++i) {
    Finding finding{commands[i], 0, 0,
                    fmt::format("{}-{}-{}.log", run_.stages[stage].name, step, i + 1)};
    ASSIGN_OR_RETURN(const Went went,
                     RunOne(stage, step,
                            where == Where::kHost ? OnHost(place_, commands[i])
                                                  : InSandbox(place_, sandbox, commands[i]),
                            finding));
    if (went != Went::kOn) return went;
    results.push_back(ToJson(finding));
    if (finding.status == 0) continue;
    why_ = fmt::format("{} of {}: `{}` ended with {}", step, run_.stages[stage].name,
                       EscapeForTerminal(commands[i]), finding.status);
    Say(why_);
    ShowLog(finding);
    CLOCHE_TRY(Note(stage, step, "failed", {{"results", std::move(results)}}));
    return Went::kFailed;
  }
  CLOCHE_TRY(Note(stage, step, "done", {{"results", std::move(results)}}));
  return Went::kOn;
}

// Runs in a copy of the saved state, so that files written by the checks do not become part of it.
Result<Went> Runner::Verify(size_t stage) {
  const std::string name = CopyName(run_, "verify", stage);
  CLOCHE_TRY(Note(stage, "verify", "begun", {{"sandbox", name}}));
  ASSIGN_OR_RETURN(const std::string id, ForkState(run_.snapshot, name));
  auto went = RunAll(stage, "verify", run_.stages[stage].verify, Where::kSandbox, id);
  RemoveSandbox(id);
  return went;
}

Result<Went> Runner::AskPerson(size_t stage, const Subject& subject) {
  const project::Stage& what = run_.stages[stage];
  if (!options_.asks) {
    Say(fmt::format("{}: waits for your approval: cloche pipeline {} approve {}{}", what.name,
                    run_.sandbox, what.name, subject.alarmed ? " --allow-triggers" : ""));
    // Earlier stages are watched to their end; the yes may come meanwhile.
    Waiting answer;
    answer.approval = answer.watches = true;
    ASSIGN_OR_RETURN(const Went went, Wait(answer));
    if (went != Went::kOn) return went;
    return run_.progress[stage].approved_subject() == subject.digest ? Went::kOn : Went::kWaiting;
  }
  bool triggers = options_.allow_triggers;
  const auto ask = [&](const std::string& question) -> Result<Went> {
    cli::DropTypeAhead();
    cli::WriteAll(STDERR_FILENO, question + " [y/N] ");
    Waiting answer;
    answer.standard_input = true;
    ASSIGN_OR_RETURN(const Went went, Wait(answer));
    if (went != Went::kOn) return went;
    if (cli::ReadYes()) return Went::kOn;
    why_ = what.name + " was refused";
    CLOCHE_TRY(Note(stage, "approval", "refused", {{"by", "terminal"}}));
    return Went::kCancelled;
  };
  if (subject.alarmed && !triggers) {
    ASSIGN_OR_RETURN(const Went went,
                     ask("Some changes need a yes of their own, see above. Apply them too?"));
    if (went != Went::kOn) return went;
    triggers = true;
  }
  if (what.approval == project::Approval::kApprove) {
    ASSIGN_OR_RETURN(const Went went, ask("Go on with stage " + what.name + "?"));
    if (went != Went::kOn) return went;
  }
  CLOCHE_TRY(Note(stage, "approval", "granted",
                  {{"subject", subject.digest},
                   {"triggers", subject.alarmed && triggers},
                   {"by", "terminal"}}));
  return Went::kOn;
}

Result<Went> Runner::Approve(size_t stage) {
  const project::Stage& what = run_.stages[stage];
  ASSIGN_OR_RETURN(const Subject subject, FindSubject(run_, stage));
  if (const Json& conflicts = Field(subject.plan, "conflicts"); !conflicts.empty()) {
    for (const Json& each : conflicts)
      Say(EscapeForTerminal(Text(each, "path") + ": " + Text(each, "reason")));
    why_ = fmt::format("apply of {}: {} conflict{}, nothing was applied", what.name,
                       conflicts.size(), conflicts.size() == 1 ? "" : "s");
    CLOCHE_TRY(Note(stage, "apply", "conflict", {{"conflicts", conflicts}, {"why", why_}}));
    return Went::kConflict;
  }
  if (what.apply && subject.changes.empty() && what.deploy.empty()) {
    Say(what.name + ": there is nothing to apply");
    CLOCHE_TRY(Note(stage, "approval", "granted", {{"subject", subject.digest}, {"by", "nobody"}}));
    return Went::kOn;
  }
  const bool triggers = !subject.alarmed || options_.allow_triggers;
  const StageProgress& at = run_.progress[stage];
  if (at.approved_subject() == subject.digest && (triggers || at.triggers_approved()))
    return Went::kOn;
  const bool needs_person = what.approval == project::Approval::kApprove || !triggers;
  // Later stages, and later readers, see what was asked for.
  if (what.apply)
    CLOCHE_TRY(journal_.WriteText(ChangesFile(run_, stage),
                                  DescribeChanges(subject, run_.project, false)));
  CLOCHE_TRY(Note(stage, "approval", "waiting",
                  {{"subject", subject.digest},
                   {"triggers", false},
                   {"request", RequestJson(run_, stage, subject)}}));
  if (!options_.quiet)
    cli::WriteAll(STDERR_FILENO, DescribeRequest(run_, stage, subject, journal_,
                                                 cli::ColourWanted(STDERR_FILENO)));
  if (needs_person) return AskPerson(stage, subject);
  const bool notify = what.approval == project::Approval::kNotify;
  if (notify) {
    Say(fmt::format("{}: goes on in {}; Ctrl-C or `cloche pipeline {} cancel` stops it", what.name,
                    FormatDuration(what.cancel_window), run_.sandbox));
    Waiting window;
    window.until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(what.cancel_window));
    ASSIGN_OR_RETURN(const Went went, Wait(window));
    // Ctrl-C in this window means that it shall not run later either.
    if (went == Went::kLeft) why_ = "its owner cancelled " + what.name;
    if (went == Went::kLeft) return Went::kCancelled;
    if (went != Went::kOn) return went;
  }
  CLOCHE_TRY(Note(stage, "approval", "granted",
                  {{"subject", subject.digest},
                   {"triggers", subject.alarmed},
                   {"by", notify ? "notify" : "auto"}}));
  return Went::kOn;
}

Result<bool> Runner::Adopt(size_t stage) {
  const Json& begun = run_.progress[stage].steps.at("apply");
  ASSIGN_OR_RETURN(const auto all, Promotions(place_.home));
  for (const PromotionEntry& each : all)
    if (each.sandbox == run_.sandbox && each.digest == Text(begun, "digest") &&
        each.id > Text(begun, "after") && each.state == "done") {
      CLOCHE_TRY(Note(stage, "apply", "done", {{"promotion", each.id}}));
      return true;
    }
  return false;
}

// The way back is the promotion itself.
Result<Went> Runner::Apply(size_t stage) {
  const project::Stage& what = run_.stages[stage];
  const std::string digest = run_.progress[stage].approved_subject();
  if (digest.empty())
    return Fail(Code::kInternal, "apply " + what.name + ": what was approved has no digest", "");
  ASSIGN_OR_RETURN(const auto before, Promotions(place_.home));
  CLOCHE_TRY(Note(stage, "apply", "begun",
                  {{"digest", digest},
                   {"after", before.empty() ? "" : before.back().id},
                   {"restore", "cloche undo"}}));
  Say(what.name + ": applying");
  const bool triggers = run_.progress[stage].triggers_approved() || options_.allow_triggers;
  const auto done = Promote(run_, what, digest, triggers);
  if (!done) {
    // Perhaps it was an earlier one of ours that came in between.
    ASSIGN_OR_RETURN(const bool adopted, Adopt(stage));
    if (adopted) return Went::kOn;
    why_ = fmt::format("apply of {}: {}", what.name, done.error().message);
    Say(EscapeForTerminal(why_));
    CLOCHE_TRY(Note(stage, "apply", "failed", {{"why", why_}}));
    return done.error().code == Code::kConflict ? Went::kConflict : Went::kFailed;
  }
  const std::string state = Text(*done, "state");
  if (state != "done" && state != "nothing") {
    why_ = fmt::format("apply of {}: {}, nothing was applied", what.name, state);
    Say(why_);
    CLOCHE_TRY(
        Note(stage, "apply", "failed", {{"why", why_}, {"conflicts", Field(*done, "conflicts")}}));
    return Went::kConflict;
  }
  const std::string id = Text(*done, "id");
  CLOCHE_TRY(Note(stage, "apply", "done", {{"promotion", id}}));
  if (!id.empty()) Say(fmt::format("{}: applied as {}", what.name, id));
  return Went::kOn;
}

Result<Went> Runner::Check(size_t stage) {
  const project::Stage& what = run_.stages[stage];
  const std::string name = CopyName(run_, "check", stage);
  CLOCHE_TRY(Note(stage, "check", "begun", {{"sandbox", what.on_host ? "" : name}}));
  if (what.on_host) return RunAll(stage, "check", what.check, Where::kHost, "");
  ASSIGN_OR_RETURN(const std::string id, NewSandbox(name, around_));
  auto went = RunAll(stage, "check", what.check, Where::kSandbox, id);
  RemoveSandbox(id);
  return went;
}

// A deployment that was cut short may have done anything: first go back to where it was.
Result<Went> Runner::Deploy(size_t stage) {
  const project::Stage& what = run_.stages[stage];
  if (run_.progress[stage].StateOf("deploy") == "begun") {
    Say(what.name + ": its deployment was cut short; it is begun again" +
        (what.rollback.empty() ? "" : " after a rollback"));
    if (!what.rollback.empty()) {
      Finding back{what.rollback, 0, 0, what.name + "-rollback.log"};
      ASSIGN_OR_RETURN(const Went went,
                       RunOne(stage, "restore", OnHost(place_, what.rollback), back));
      if (went != Went::kOn) return went;
      CLOCHE_TRY(Note(stage, "restore", "done", {{"results", Json::array({ToJson(back)})}}));
    }
  }
  return RunAll(stage, "deploy", {what.deploy}, Where::kHost, "");
}

Status Runner::BeginHealth(size_t stage) {
  const project::Stage& what = run_.stages[stage];
  const auto until = WallClock::now() + std::chrono::duration_cast<WallClock::duration>(
                                            std::chrono::duration<double>(what.health_for));
  CLOCHE_TRY(Note(stage, "health", "begun", {{"until", WallClock::to_time_t(until)}}));
  watches_.emplace_back(stage, what, until, place_, journal_);
  return {};
}

}  // namespace cloche::pipeline
