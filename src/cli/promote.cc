#include <fmt/core.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/promote_choose.h"
#include "cli/promote_show.h"
#include "cli/sandbox_view.h"
#include "cli/surroundings.h"

namespace cloche::cli {
namespace {

struct PromoteFlags {
  std::string ref, to, merge_tool;
  std::vector<std::string> paths, exclude, ours, theirs;
  bool dry_run = false, interactive = false, yes = false, allow_triggers = false, json = false;
};

std::string AbsolutePath(const std::string& path, const Surroundings& around) {
  std::string whole = path.starts_with('/') ? path
                      : path == "."         ? around.cwd
                                            : around.cwd + "/" + path;
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

// A directory of reality, unlike the other paths: "../there" is where it is now.
std::string TargetDirectory(const std::string& path, const Surroundings& around) {
  const std::string whole = AbsolutePath(path, around);
  char real[PATH_MAX];
  const bool upwards = (whole + "/").find("/../") != std::string::npos;
  return upwards && realpath(whole.c_str(), real) != nullptr ? real : whole;
}

Json RequestBody(const PromoteFlags& flags, const Surroundings& around) {
  Json body = {{"dry_run", true}};
  const auto put = [&](const char* key, const std::vector<std::string>& paths) {
    body[key] = Json::array();
    for (const std::string& path : paths) body[key].push_back(AbsolutePath(path, around));
  };
  put("paths", flags.paths);
  put("exclude", flags.exclude);
  put("ours", flags.ours);
  put("theirs", flags.theirs);
  body["texts"] = Json::object();
  if (flags.paths.empty())
    body["paths"].push_back(around.project.empty() ? around.cwd : around.project);
  if (!flags.to.empty()) body["to"] = TargetDirectory(flags.to, around);
  return body;
}

bool Alarmed(const Json& plan) {
  for (const Json& each : Field(plan, "triggers"))
    if (Text(each, "severity") == "alarm") return true;
  return false;
}

Error ConflictError(const Json& plan) {
  const size_t count = Field(plan, "conflicts").size();
  return {Code::kConflict,
          fmt::format("promote: {} conflict{}, nothing was applied", count, count == 1 ? "" : "s"),
          ""};
}

// Looks, lets the person choose, and looks again at what was chosen.
Result<PromoteAnswer> Plan(const std::string& target, const PromoteFlags& flags, Json& body) {
  const bool choosing = flags.interactive || !flags.merge_tool.empty();
  if (choosing) body["with_texts"] = true;
  auto plan = AskPromote(target, body);
  body.erase("with_texts");
  if (!plan || !choosing) return plan;
  if (!flags.merge_tool.empty() && !Field(plan->json, "conflicts").empty()) {
    const auto resolved = MergeByTool(flags.merge_tool, plan->json, body);
    if (!resolved) return std::unexpected(resolved.error());
    if (*resolved > 0) {
      body["with_texts"] = flags.interactive;
      plan = AskPromote(target, body);
      body.erase("with_texts");
      if (!plan) return plan;
    }
  }
  if (!flags.interactive || !Field(plan->json, "conflicts").empty()) return plan;
  if (plan->changes.empty()) return plan;
  if (!ChooseChanges(*plan, body))
    return Fail(Code::kConflict, "promote: nothing was chosen, nothing was applied");
  return AskPromote(target, body);
}

// Whoever is there says yes; what makes something run later needs one of its own.
Status Approve(const PromoteAnswer& plan, const PromoteFlags& flags) {
  const bool asks = !flags.json && isatty(STDIN_FILENO) != 0;
  const bool alarmed = Alarmed(plan.json) && !flags.allow_triggers;
  const size_t changes = plan.changes.size();
  if (alarmed && !asks)
    return Fail(Code::kDenied, "promote: some of it makes something run later, nothing was applied",
                "look at it (--dry-run), then give --allow-triggers, or leave it out: --exclude");
  if (alarmed && !Confirmed("Some of it makes something run later. Take that over, too?"))
    return Fail(Code::kConflict, "promote: not confirmed, nothing was applied");
  if (flags.yes) return {};
  if (!asks)
    return Fail(Code::kInvalid, "promote: nobody is there to say yes", "look, then give --yes");
  if (!Confirmed(fmt::format("Apply {} change{} to reality?", changes, changes == 1 ? "" : "s")))
    return Fail(Code::kConflict, "promote: not confirmed, nothing was applied");
  return {};
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
  app.add_flag("-i,--interactive", flags.interactive, "choose files and hunks");
  app.add_option("--to", flags.to, "onto this directory, not onto the project")
      ->type_name("DIRECTORY");
  AddList(app, "--ours", flags.ours, "of a conflict here or below, keep what reality has");
  AddList(app, "--theirs", flags.theirs, "of a conflict here or below, take the sandbox's");
  app.add_option("--merge-tool", flags.merge_tool,
                 "merge conflicts of texts with this: it gets BASE REALITY SANDBOX MERGED")
      ->type_name("COMMAND");
  app.add_flag("-y,--yes", flags.yes, "do not ask, but for what makes something run later");
  app.add_flag("--allow-triggers", flags.allow_triggers,
               "take over what makes something run later, too");
  AddJsonFlag(app, flags.json);
  if (auto status = Parse(app, "SANDBOX [PATH...]", arguments)) return *status;
  const auto fail = [&](const Error& error) { return PrintError(error, flags.json); };
  if (flags.interactive && (flags.json || isatty(STDIN_FILENO) == 0))
    return fail({Code::kInvalid, "promote: --interactive needs a terminal and no --json",
                 "choose with PATH and --exclude"});

  const auto around = ReadSurroundings();
  if (!around) return fail(around.error());
  const auto target = SandboxTarget(flags.ref, "/promote");
  if (!target) return fail(target.error());
  Json body = RequestBody(flags, *around);
  auto plan = Plan(*target, flags, body);
  if (!plan) return fail(plan.error());
  const bool conflicts = !Field(plan->json, "conflicts").empty();
  if (!flags.json) {
    TellRecovered(plan->json);
    ShowPlan(*plan, *around);
    if (conflicts) ShowConflicts(plan->json);
  }
  if (flags.json && (conflicts || flags.dry_run)) PrintAnswer(*plan);
  if (conflicts) return flags.json ? ExitStatus(Code::kConflict) : fail(ConflictError(plan->json));
  if (!flags.json && plan->changes.empty()) WriteAll(STDERR_FILENO, "cloche: nothing to apply\n");
  if (flags.dry_run) return 0;
  if (plan->changes.empty()) {
    if (flags.json) PrintAnswer(*plan);
    return 0;
  }
  if (Status approved = Approve(*plan, flags); !approved) return fail(approved.error());

  body["allow_triggers"] = Alarmed(plan->json);
  body["dry_run"] = false;
  body["digest"] = Field(plan->json, "digest");
  plan->changes = {};  // they come once more
  const auto done = AskPromote(*target, body);
  if (!done) return fail(done.error());
  if (!Field(done->json, "conflicts").empty()) {
    if (flags.json) {
      PrintAnswer(*done);
      return ExitStatus(Code::kConflict);
    }
    ShowConflicts(done->json);
    return fail(ConflictError(done->json));
  }
  if (flags.json) {
    PrintAnswer(*done);
    return 0;
  }
  const std::string id = EscapeForTerminal(Text(done->json, "id"));
  WriteAll(STDERR_FILENO, fmt::format("cloche: applied; cloche undo {} takes it back\n", id));
  WriteAll(STDOUT_FILENO, id + "\n");
  return 0;
}

}  // namespace cloche::cli
