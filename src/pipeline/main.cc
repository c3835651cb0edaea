// cloche-pipeline: lifts what a sandbox changed into reality, stage by stage. Started by cloche:
//   --program CLOCHE ...    what was written after `cloche pipeline`
//   check PROJECT SETTINGS  whether a cloche.toml and a config.toml make sense, and their
//                           [sandbox], JSON; "" = there is none
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "base/error_json.h"
#include "base/text.h"
#include "change/rules/globs.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/sandbox_view.h"
#include "cli/surroundings.h"
#include "pipeline/request.h"
#include "pipeline/runner.h"
#include "pipeline/view.h"
#include "sys/file.h"

namespace cloche::pipeline {
namespace {

using cli::Field;
using cli::PrintError;
using cli::Text;

constexpr const char* kDescription =
    "Lifts what a sandbox changed into reality, stage by stage, as the project's cloche.toml said\n"
    "when the sandbox was made (docs/pipeline.md). Without an ACTION it shows how far that is.\n"
    "\n"
    "  run             go on from wherever it is; begin when nothing is under way\n"
    "  approve STAGE   say yes to a stage that waits for it\n"
    "  cancel          stop before the next stage\n"
    "  rollback        take back what STAGE and the later ones did; without STAGE all of it\n"
    "  repin           go by the real cloche.toml as it is now";

struct Flags {
  std::string ref, action, stage;
  bool yes = false, allow_triggers = false, json = false;
};

// Globs are part of the file, and a mistake in one of them is reported at once.
Result<project::ProjectFile> ReadWhole(const std::string& text,
                                       const std::string& name = project::kFileName) {
  ASSIGN_OR_RETURN(project::ProjectFile file, project::ReadProjectFile(text, name));
  for (const auto* list : {&file.promote.allow, &file.promote.deny, &file.promote.read_only})
    for (const std::string& pattern : *list)
      if (const auto glob = rules::Glob::Parse(pattern); !glob)
        return Fail(glob.error().code, fmt::format("read {}: {}", name, glob.error().message),
                    glob.error().cure);
  return file;
}

Json DefaultsJson(const project::SandboxDefaults& defaults) {
  Json json = {{"hide", defaults.hide}, {"limits", LimitsToJson(defaults.limits)}};
  if (defaults.allow) json["allow"] = *defaults.allow;
  if (defaults.secrets) json["secrets"] = *defaults.secrets;
  return json;
}

Result<std::string> ReadText(const std::string& path) {
  const sys::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  if (!file.valid() || sys::ReadAll(file.get(), text, 1 << 20) < 0)
    return Fail(Code::kInvalid,
                fmt::format("read {}: {}", EscapeForTerminal(path), strerror(errno)),
                "make it a file that you may read, or remove it");
  return text;
}

// The wishes of a project and the settings of a person for sandboxes; an empty path: no such file.
Result<Json> ReadDefaults(const std::string& project, const std::string& settings) {
  Json answer = {{"wishes", nullptr}, {"settings", nullptr}};
  if (!project.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadText(project));
    ASSIGN_OR_RETURN(const project::ProjectFile file, ReadWhole(text, EscapeForTerminal(project)));
    answer["wishes"] = DefaultsJson(file.sandbox);
  }
  if (!settings.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadText(settings));
    ASSIGN_OR_RETURN(const project::SandboxDefaults read,
                     project::ReadSettings(text, EscapeForTerminal(settings)));
    answer["settings"] = DefaultsJson(read);
  }
  return answer;
}

int CheckFiles(const char* project, const char* settings) {
  const auto read = ReadDefaults(project, settings);
  const Json answer = read ? *read : Json{{"error", ErrorJson(read.error())}};
  cli::WriteJson(cli::JsonText(answer) + "\n");
  return 0;
}

// The request, and the sandbox it is about.
struct Session {
  Flags flags;
  cli::Surroundings around;
  Workplace place;
  std::string sandbox;  // its id
  std::string pinned, pinned_digest;
};

bool SomebodyIsThere(const Flags& flags) {
  return !flags.json && isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

// A yes from a terminal, or one that was given with the command.
Status NeedYes(const Flags& flags, const std::string& what, const std::string& question) {
  if (flags.yes) return {};
  if (!SomebodyIsThere(flags))
    return Fail(Code::kDenied, what + ": nobody is there to say yes", "look, then give --yes");
  if (!cli::Confirmed(question)) return Fail(Code::kConflict, what + ": not confirmed", "");
  return {};
}

Result<Session> Open(const Flags& flags, const std::string& program) {
  Session session;
  session.flags = flags;
  ASSIGN_OR_RETURN(session.around, cli::ReadSurroundings());
  ASSIGN_OR_RETURN(const std::string target, cli::SandboxTarget(flags.ref, "/project_file"));
  ASSIGN_OR_RETURN(const Json pinned, cli::Call("GET", target));
  session.sandbox = Text(pinned, "id");
  session.pinned = Text(pinned, "text");
  session.pinned_digest = Text(pinned, "digest");
  const std::string project = Text(pinned, "project");
  session.around.cwd = session.around.project = project;
  session.place = {program, project, session.around.home};
  return session;
}

Result<Run> EmptyRun(const Session& session) {
  Run run;
  run.sandbox = session.sandbox;
  run.project = session.place.project;
  run.file_text = session.pinned;
  run.file_digest = session.pinned_digest;
  ASSIGN_OR_RETURN(project::ProjectFile file, ReadWhole(session.pinned));
  run.stages = std::move(file.stages);
  run.progress.resize(run.stages.size());
  return run;
}

// The latest run, or one that was not begun yet.
Result<Run> Latest(const Session& session, const Journal& journal) {
  ASSIGN_OR_RETURN(const std::vector<Json> lines, journal.Read());
  ASSIGN_OR_RETURN(std::optional<Run> run, Replay(lines));
  if (run) return *std::move(run);
  return EmptyRun(session);
}

std::string FileNote(const Session& session) {
  if (session.place.project.empty()) return "";
  std::string now;
  const std::string path = session.place.project + "/" + project::kFileName;
  const sys::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.valid() && sys::ReadAll(file.get(), now, 1 << 20) < 0) return "";
  if (now == session.pinned) return "";
  return fmt::format(
      "cloche.toml has changed since the sandbox was made, and the old one applies; to use the new "
      "one: cloche pipeline {} repin",
      EscapeForTerminal(session.flags.ref));
}

int Show(const Session& session, const Run& run, bool running) {
  const std::string next = NextCommand(run, running, EscapeForTerminal(session.flags.ref));
  const std::string note = FileNote(session);
  if (session.flags.json) {
    Json json = RunJson(run, running);
    json["next"] = next;
    json["project_file_changed"] = !note.empty();
    cli::PrintJson(json);
    return 0;
  }
  cli::WriteAll(STDOUT_FILENO, RunTable(run, running, cli::ColourWanted(STDOUT_FILENO)));
  if (run.stages.empty())
    cli::WriteAll(STDERR_FILENO, "cloche: its cloche.toml has no stages; docs/pipeline.md\n");
  if (run.number > 0 && !run.ended.empty())
    cli::WriteAll(STDERR_FILENO,
                  fmt::format("cloche: run {}: {}{}\n", run.number, run.ended,
                              run.why.empty() ? "" : ": " + EscapeForTerminal(run.why)));
  if (!note.empty()) cli::WriteAll(STDERR_FILENO, "cloche: " + note + "\n");
  if (!next.empty() && !run.stages.empty())
    cli::WriteAll(STDERR_FILENO, "cloche: next: " + next + "\n");
  return 0;
}

std::unexpected<Error> Busy() {
  return Fail(Code::kConflict, "pipeline: somebody runs it just now",
              "wait for it, or: cloche pipeline SANDBOX cancel");
}

Result<Run> Begin(const Session& session, const Journal& journal, int number) {
  if (session.pinned.empty())
    return Fail(Code::kInvalid, "pipeline: the sandbox was made without a cloche.toml",
                "write one with [[stage]] (docs/pipeline.md), then cloche pipeline " +
                    EscapeForTerminal(session.flags.ref) + " repin");
  ASSIGN_OR_RETURN(Run run, EmptyRun(session));
  if (run.stages.empty())
    return Fail(Code::kInvalid, "pipeline: its cloche.toml has no stages",
                "write [[stage]] into it (docs/pipeline.md), then cloche pipeline " +
                    EscapeForTerminal(session.flags.ref) + " repin");
  run.number = number;
  run.created = Now();
  CLOCHE_TRY(journal.Append({{"pipeline", kJournalVersion},
                             {"run", number},
                             {"sandbox", run.sandbox},
                             {"project", run.project},
                             {"digest", run.file_digest},
                             {"text", run.file_text},
                             {"at", run.created}}));
  return run;
}

int StatusOf(Went went, const Run& run, int left) {
  switch (went) {
    case Went::kOn:
      return 0;
    case Went::kWaiting:
      return ExitStatus(Code::kDenied);
    case Went::kConflict:
      return ExitStatus(Code::kConflict);
    case Went::kCancelled:
      return left != 0 ? left : ExitStatus(Code::kConflict);
    case Went::kLeft:
      return left;
    default:
      return run.ended == "done" ? 0 : 1;
  }
}

Result<int> RunIt(const Session& session, Journal& journal) {
  if (!journal.TakeTurn()) return Busy();
  ASSIGN_OR_RETURN(Run run, Latest(session, journal));
  const bool resumed = run.number > 0 && run.ended.empty();
  if (!resumed) {
    // Remove what the last run had no time left to remove.
    RemoveCopies(run);
    if (!run.snapshot.empty()) DropState(run.snapshot);
    ASSIGN_OR_RETURN(run, Begin(session, journal, run.number + 1));
  }
  RunnerOptions options;
  options.allow_triggers = session.flags.allow_triggers;
  options.asks = SomebodyIsThere(session.flags);
  options.quiet = session.flags.json;
  if (resumed && !options.quiet)
    cli::WriteAll(STDERR_FILENO, fmt::format("cloche: run {} goes on\n", run.number));
  Runner runner(journal, run, session.place, session.around, options);
  ASSIGN_OR_RETURN(const Went went, runner.Go());
  Show(session, run, false);
  return StatusOf(went, run, runner.left_status());
}

Result<int> ApproveIt(const Session& session, Journal& journal) {
  ASSIGN_OR_RETURN(const Run run, Latest(session, journal));
  const auto stage = run.IndexOf(session.flags.stage);
  if (!stage)
    return Fail(Code::kNotFound,
                "approve: there is no stage " + EscapeForTerminal(session.flags.stage),
                "cloche pipeline " + EscapeForTerminal(session.flags.ref) + " shows them");
  if (!run.ended.empty() || run.StageState(*stage) != "waiting")
    return Fail(Code::kConflict,
                fmt::format("approve {}: it waits for nobody", run.stages[*stage].name),
                "cloche pipeline " + EscapeForTerminal(session.flags.ref) + " run");
  ASSIGN_OR_RETURN(const Subject subject, FindSubject(run, *stage));
  const Json& asked = run.progress[*stage].steps.at("approval");
  if (Text(asked, "subject") != subject.digest)
    return Fail(Code::kConflict, "approve: reality is not what it was when this was asked for",
                "look again: cloche pipeline " + EscapeForTerminal(session.flags.ref) + " run");
  if (!session.flags.json)
    cli::WriteAll(STDERR_FILENO,
                  DescribeRequest(run, *stage, subject, journal, cli::ColourWanted(STDERR_FILENO)));
  bool triggers = session.flags.allow_triggers;
  if (subject.alarmed && !triggers && SomebodyIsThere(session.flags))
    triggers = cli::Confirmed("Some changes need a yes of their own, see above. Apply them too?");
  if (subject.alarmed && !triggers)
    return Fail(Code::kDenied, "approve: some changes need a yes of their own",
                "look at it, then give --allow-triggers");
  CLOCHE_TRY(NeedYes(session.flags, "approve", "Approve stage " + run.stages[*stage].name + "?"));
  CLOCHE_TRY(journal.Append({{"stage", run.stages[*stage].name},
                             {"step", "approval"},
                             {"state", "granted"},
                             {"subject", subject.digest},
                             {"triggers", subject.alarmed},
                             {"by", "cloche pipeline approve"},
                             {"at", Now()}}));
  ASSIGN_OR_RETURN(const Run now, Latest(session, journal));
  return Show(session, now, journal.SomebodyRuns());
}

Result<int> CancelIt(const Session& session, Journal& journal) {
  ASSIGN_OR_RETURN(const Run run, Latest(session, journal));
  if (run.number == 0 || !run.ended.empty())
    return Fail(Code::kConflict, "cancel: nothing is under way", "");
  CLOCHE_TRY(journal.Append({{"cancel", true}, {"at", Now()}}));
  const bool running = !journal.TakeTurn();
  // A running pipeline sees that line; if none runs, the run ends here.
  if (!running) {
    CLOCHE_TRY(
        journal.Append({{"ended", "cancelled"}, {"why", "its owner cancelled it"}, {"at", Now()}}));
    RemoveCopies(run);
    DropState(run.snapshot);
  }
  ASSIGN_OR_RETURN(const Run now, Latest(session, journal));
  return Show(session, now, running);
}

Result<int> RollBackIt(const Session& session, Journal& journal) {
  if (!journal.TakeTurn()) return Busy();
  ASSIGN_OR_RETURN(Run run, Latest(session, journal));
  const auto from =
      session.flags.stage.empty() ? std::optional<size_t>(0) : run.IndexOf(session.flags.stage);
  if (!from)
    return Fail(Code::kNotFound,
                "rollback: there is no stage " + EscapeForTerminal(session.flags.stage),
                "cloche pipeline " + EscapeForTerminal(session.flags.ref) + " shows them");
  std::string plan;
  for (size_t i = run.stages.size(); i-- > *from;)
    if (run.progress[i].ChangedReality() && !run.progress[i].Done("rollback"))
      plan += fmt::format("  {}: {}\n", run.stages[i].name, DescribeRollback(run, i));
  if (plan.empty()) return Fail(Code::kConflict, "rollback: there is nothing to take back", "");
  if (!session.flags.json) cli::WriteAll(STDERR_FILENO, plan);
  CLOCHE_TRY(NeedYes(session.flags, "rollback", "Take that back?"));
  RunnerOptions options;
  options.quiet = session.flags.json;
  Runner runner(journal, run, session.place, session.around, options);
  ASSIGN_OR_RETURN(const Went went, runner.TakeBack(*from));
  Show(session, run, false);
  if (went == Went::kLeft) return runner.left_status();
  return run.ended == "rolled_back" ? 0 : 1;
}

Result<int> Repin(Session& session) {
  session.around.project_file.clear();
  CLOCHE_TRY(cli::ReadProjectFile(session.around));
  const std::string& text = session.around.project_file;
  CLOCHE_TRY(ReadWhole(text));
  if (!session.flags.json)
    cli::WriteAll(STDERR_FILENO,
                  text.empty() ? "there is no cloche.toml\n" : cli::LinesForTerminal(text));
  CLOCHE_TRY(NeedYes(session.flags, "repin", "Does this hold for the sandbox from now on?"));
  ASSIGN_OR_RETURN(const std::string target, cli::SandboxTarget(session.sandbox, "/project_file"));
  ASSIGN_OR_RETURN(const Json pinned, cli::Call("PUT", target, {{"text", text}}));
  if (session.flags.json)
    cli::PrintJson(pinned);
  else
    cli::WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(pinned, "digest")) + "\n");
  return 0;
}

Result<int> Act(const Flags& flags, const std::string& program) {
  ASSIGN_OR_RETURN(Session session, Open(flags, program));
  if (flags.action == "repin") return Repin(session);
  ASSIGN_OR_RETURN(Journal journal, Journal::Open(session.around.home, session.sandbox));
  // Decisions already made go by the pinned file; but nothing new begins beside a broken one.
  if (flags.action == "run" || flags.action == "approve")
    CLOCHE_TRY(cli::ReadProjectFile(session.around));
  if (flags.action == "run") return RunIt(session, journal);
  if (flags.action == "approve") return ApproveIt(session, journal);
  if (flags.action == "cancel") return CancelIt(session, journal);
  if (flags.action == "rollback") return RollBackIt(session, journal);
  ASSIGN_OR_RETURN(const Run run, Latest(session, journal));
  return Show(session, run, journal.SomebodyRuns());
}

int Main(cli::Arguments arguments, const std::string& program) {
  Flags flags;
  CLI::App app(kDescription, "cloche pipeline");
  app.add_option("SANDBOX", flags.ref, "id, unique prefix of it, or name")->required();
  app.add_option("ACTION", flags.action, "run, approve, cancel, rollback, repin")
      ->check(CLI::IsMember({"run", "approve", "cancel", "rollback", "repin"}));
  app.add_option("STAGE", flags.stage, "of approve and rollback");
  app.add_flag("-y,--yes", flags.yes, "do not ask: approve, rollback, repin");
  app.add_flag("--allow-triggers", flags.allow_triggers,
               "take over what makes something run later, too");
  cli::AddJsonFlag(app, flags.json);
  if (auto status = cli::Parse(app, "SANDBOX [ACTION [STAGE]]", arguments)) return *status;
  if (flags.action == "approve" && flags.stage.empty())
    return PrintError(
        {Code::kInvalid, "approve: which stage?", "cloche pipeline SANDBOX shows them"},
        flags.json);
  const auto status = Act(flags, program);
  return status ? *status : PrintError(status.error(), flags.json);
}

}  // namespace
}  // namespace cloche::pipeline

int main(int argc, char** argv) {
  using namespace cloche;
  const std::span<char*> words(argv, static_cast<size_t>(argc));
  const std::string_view first = argc > 1 ? words[1] : "";
  if (argc == 4 && first == "check") return pipeline::CheckFiles(words[2], words[3]);
  if (argc < 3 || first != "--program") {
    cli::WriteAll(STDERR_FILENO, "cloche-pipeline is started by cloche; use cloche pipeline\n");
    return 2;
  }
  return pipeline::Main(words.subspan(3), words[2]);
}
