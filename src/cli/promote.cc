#include <fmt/core.h>
#include <unistd.h>

#include <iostream>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/helper_process.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"
#include "cli/surroundings.h"
#include "diff/summary.h"

namespace cloche::cli {
namespace {

struct PromoteFlags {
  std::string ref;
  std::vector<std::string> paths, exclude;
  bool dry_run = false, yes = false, allow_triggers = false, json = false;
};

std::string AbsolutePath(const std::string& path, const Surroundings& around) {
  std::string whole = path.starts_with('/') ? path : around.cwd + "/" + path;
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

// A crash of an earlier one was put right just now.
void TellRecovered(const Json& answer) {
  for (const Json& each : Field(answer, "recovered")) {
    if (Text(each, "what") != "left over")
      WriteAll(STDERR_FILENO, fmt::format("cloche: {} was cut short and is {} now\n",
                                          EscapeForTerminal(Text(each, "id")), Text(each, "what")));
    for (const Json& problem : Field(each, "problems"))
      if (problem.is_string())
        WriteAll(STDERR_FILENO, "cloche: not yet as it was: " +
                                    EscapeForTerminal(problem.get<std::string>()) + "\n");
  }
}

// What makes something run later comes first, with the lines that do.
void ShowTriggers(const Json& plan) {
  const bool colour = ColourWanted(STDOUT_FILENO);
  for (const Json& each : Field(plan, "triggers")) {
    const bool alarm = Text(each, "severity") == "alarm";
    WriteAll(STDOUT_FILENO,
             Coloured(colour, alarm ? "1;31" : "33", alarm ? "runs later" : "look at") + ": " +
                 EscapeForTerminal(Text(each, "path")) + ": " +
                 EscapeForTerminal(Text(each, "reason")) + "\n");
    for (const Json& line : Field(each, "effective"))
      if (line.is_string())
        WriteAll(STDOUT_FILENO, "    " + EscapeForTerminal(line.get<std::string>()) + "\n");
  }
}

void ShowChanges(const Json& plan, const Surroundings& around) {
  diff::StatOptions options;
  options.root = around.project.empty() ? around.cwd : around.project;
  options.width = 100;
  options.colour = ColourWanted(STDOUT_FILENO);
  diff::StatTable table(options);
  for (const Json& each : Field(plan, "changes"))
    if (const auto change = diff::DecodeJsonLine(each.dump())) table.Add(*change);
  WriteAll(STDOUT_FILENO, table.Render());
  for (const Json& note : Field(plan, "notes"))
    if (note.is_string())
      WriteAll(STDOUT_FILENO, " note: " + EscapeForTerminal(note.get<std::string>()) + "\n");
}

void ListOnStandardError(const std::string& line) {
  WriteAll(STDERR_FILENO, "  " + EscapeForTerminal(line) + "\n");
}

Error ConflictError(const Json& plan) {
  const Json& conflicts = Field(plan, "conflicts");
  for (const Json& each : conflicts)
    ListOnStandardError(Text(each, "path") + ": " + Text(each, "reason"));
  return {Code::kConflict,
          fmt::format("promote: {} conflict{}, nothing was applied", conflicts.size(),
                      conflicts.size() == 1 ? "" : "s"),
          conflicts.empty() ? "" : Text(conflicts[0], "cure")};
}

bool Confirmed(const std::string& question) {
  WriteAll(STDERR_FILENO, question + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<Json> AskPromoter(std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(HelperProcess helper,
                   HelperProcess::Start("cloche-promote", std::move(arguments)));
  const Json answer = Json::parse(helper.ReadLine(), nullptr, false);
  if (!answer.is_object()) return Fail(Code::kInternal, "cloche-promote gave no answer");
  if (answer.contains("error")) return std::unexpected(ErrorFromJson(answer["error"]));
  return answer;
}

}  // namespace

int Promote(Arguments arguments) {
  PromoteFlags flags;
  CLI::App app("Applies what a sandbox changed to reality: all of it or nothing.",
               "cloche promote");
  app.add_option("SANDBOX", flags.ref, "id, unique prefix of it, or name")->required();
  app.add_option("PATH", flags.paths, "only these and what is below; default: the project");
  AddList(app, "--exclude", flags.exclude, "not this and what is below");
  app.add_flag("--dry-run", flags.dry_run, "say what would be done");
  app.add_flag("-y,--yes", flags.yes, "do not ask, but for what makes something run later");
  app.add_flag("--allow-triggers", flags.allow_triggers,
               "take over what makes something run later, too");
  AddJsonFlag(app, flags.json);
  if (auto status = Parse(app, "SANDBOX [PATH...]", arguments)) return *status;
  const auto fail = [&](const Error& error) { return PrintError(error, flags.json); };

  const auto around = ReadSurroundings();
  if (!around) return fail(around.error());
  const auto target = SandboxTarget(flags.ref, "/promote");
  if (!target) return fail(target.error());
  Json body = {{"dry_run", true}, {"paths", Json::array()}, {"exclude", Json::array()}};
  for (const std::string& path : flags.paths) body["paths"].push_back(AbsolutePath(path, *around));
  if (flags.paths.empty())
    body["paths"].push_back(around->project.empty() ? around->cwd : around->project);
  for (const std::string& path : flags.exclude)
    body["exclude"].push_back(AbsolutePath(path, *around));
  const auto plan = Call("POST", *target, body);
  if (!plan) return fail(plan.error());
  if (!flags.json) TellRecovered(*plan);
  bool alarmed = false;
  for (const Json& each : Field(*plan, "triggers")) alarmed |= Text(each, "severity") == "alarm";
  if (!flags.json) ShowTriggers(*plan);
  if (!flags.json) ShowChanges(*plan, *around);
  if (!Field(*plan, "conflicts").empty()) {
    if (!flags.json) return fail(ConflictError(*plan));
    PrintJson(*plan);
    return ExitStatus(Code::kConflict);
  }
  const size_t changes = Field(*plan, "changes").size();
  if (flags.dry_run || changes == 0) {
    if (flags.json) PrintJson(*plan);
    return 0;
  }
  const bool asks = !flags.json && isatty(STDIN_FILENO);
  if (alarmed && !flags.allow_triggers && !asks)
    return fail({Code::kDenied,
                 "promote: some of it makes something run later, nothing was applied",
                 "look at it (--dry-run), then give --allow-triggers, or leave it out: --exclude"});
  if (alarmed && !flags.allow_triggers &&
      !Confirmed("Some of it makes something run later. Take that over, too?"))
    return fail({Code::kConflict, "promote: not confirmed, nothing was applied", ""});
  if (!flags.yes && !asks)
    return fail({Code::kInvalid, "promote: nobody is there to say yes", "look, then give --yes"});
  if (!flags.yes &&
      !Confirmed(fmt::format("Apply {} change{} to reality?", changes, changes == 1 ? "" : "s")))
    return fail({Code::kConflict, "promote: not confirmed, nothing was applied", ""});

  body["allow_triggers"] = alarmed;
  body["dry_run"] = false;
  body["digest"] = Field(*plan, "digest");
  const auto done = Call("POST", *target, body);
  if (!done) return fail(done.error());
  if (!Field(*done, "conflicts").empty()) return fail(ConflictError(*done));
  if (flags.json) {
    PrintJson(*done);
    return 0;
  }
  const std::string id = EscapeForTerminal(Text(*done, "id"));
  WriteAll(STDERR_FILENO, fmt::format("cloche: applied; cloche undo {} takes it back\n", id));
  WriteAll(STDOUT_FILENO, id + "\n");
  return 0;
}

int Promotions(Arguments arguments) {
  bool json = false;
  CLI::App app("Lists what was applied to reality, newest last.", "cloche promotions");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;
  const auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  const auto answer = AskPromoter({"list", around->home});
  if (!answer) return PrintError(answer.error(), json);
  if (!json) TellRecovered(*answer);
  if (json) {
    PrintJson(Field(*answer, "promotions"));
    return 0;
  }
  Table table({"PROMOTION", "CREATED", "STATE", "STEPS", "SANDBOX"});
  table.AlignRight(3);
  for (const Json& each : Field(*answer, "promotions"))
    table.AddRow({Text(each, "id"), Text(each, "created"), Text(each, "state"),
                  DescribeValue(Field(each, "steps")), Text(each, "sandbox")});
  if (!table.empty()) WriteAll(STDOUT_FILENO, table.Render(ColourWanted(STDOUT_FILENO)));
  return 0;
}

int Undo(Arguments arguments) {
  std::string id;
  bool json = false;
  CLI::App app("Takes a promotion back, byte for byte.", "cloche undo");
  app.add_option("PROMOTION", id, "its id: cloche promotions shows them")->required();
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "PROMOTION", arguments)) return *status;
  const auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  const auto answer = AskPromoter({"undo", around->home, id});
  if (!answer) return PrintError(answer.error(), json);
  if (!json) TellRecovered(*answer);
  if (const Json& moved = Field(*answer, "moved"); !moved.empty()) {
    if (!json)
      for (const Json& path : moved)
        if (path.is_string()) ListOnStandardError(path.get<std::string>());
    return PrintError(
        {Code::kConflict,
         fmt::format("undo {}: reality has moved on at {} of its paths, nothing was undone",
                     EscapeForTerminal(id), moved.size()),
         "put them back as they were, then try again"},
        json);
  }
  if (json) PrintJson(*answer);
  return 0;
}

}  // namespace cloche::cli
