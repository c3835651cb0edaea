#include <fmt/core.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

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

constexpr int kExitInterrupted = 130;

struct PromoteFlags {
  std::string ref, to, merge_tool;
  std::vector<std::string> paths, exclude, ours, theirs;
  bool dry_run = false, interactive = false, yes = false, json = false;
  bool allow_triggers = false, skip_triggers = false;
  bool with_noise = false;
};

// For "../there" the directory is resolved now; its last part may exist in the sandbox only.
std::string AbsolutePath(const std::string& path, const Surroundings& around) {
  std::string whole = path.starts_with('/') ? path
                      : path == "."         ? around.cwd
                                            : around.cwd + "/" + path;
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  if ((whole + "/").find("/../") == std::string::npos) return whole;
  const size_t last = whole.ends_with("/..") ? whole.size() : whole.rfind('/');
  char real[PATH_MAX];
  if (realpath(whole.substr(0, last).c_str(), real) == nullptr) return whole;
  return (last < whole.size() && std::string_view(real) == "/" ? "" : real) + whole.substr(last);
}

// An existing name stands for itself, even if it looks like a pattern: "[slug]".
bool IsPattern(const std::string& word, const Surroundings& around) {
  struct stat info {};
  return word.find_first_of("*?[") != std::string::npos &&
         lstat(AbsolutePath(word, around).c_str(), &info) < 0;
}

// A pattern with a slash matches whole paths; others match names at any depth.
std::string Pattern(const std::string& word, const Surroundings& around) {
  if (word.find('/') == std::string::npos || word.starts_with('/')) return word;
  std::string pattern;
  for (const char c : around.cwd == "/" ? "" : around.cwd) {
    if (std::string_view("*?[\\").contains(c)) pattern += '\\';
    pattern += c;
  }
  return pattern + "/" + (word.starts_with("./") ? word.substr(2) : word);
}

// `project`: the default when no path was named.
Json RequestBody(const PromoteFlags& flags, const std::string& project,
                 const Surroundings& around) {
  Json body = {{"dry_run", true}};
  const auto put = [&](const char* key, const char* globs, const std::vector<std::string>& words) {
    body[key] = Json::array();
    for (const std::string& word : words)
      if (globs != nullptr && IsPattern(word, around))
        body[globs].push_back(Pattern(word, around));
      else
        body[key].push_back(AbsolutePath(word, around));
  };
  put("paths", "path_globs", flags.paths);
  put("exclude", "exclude_globs", flags.exclude);
  put("ours", nullptr, flags.ours);
  put("theirs", nullptr, flags.theirs);
  body["texts"] = Json::object();
  if (flags.with_noise) body["with_noise"] = true;
  if (flags.paths.empty()) body["paths"].push_back(project);
  if (!flags.to.empty()) body["to"] = AbsolutePath(flags.to, around);
  return body;
}

// A word that matches nothing is a mistake; if it was to exclude something, that would be applied.
Status CheckWords(const Json& plan, const PromoteFlags& flags, const Surroundings& around) {
  const Json& unmatched = Field(plan, "unmatched");
  const auto missed = [&](const std::string& text) {
    return std::ranges::find(unmatched, Json(text)) != unmatched.end();
  };
  struct stat info {};
  for (const auto* words : {&flags.paths, &flags.exclude, &flags.ours, &flags.theirs})
    for (const std::string& word : *words) {
      const std::string path = AbsolutePath(word, around);
      const bool pattern =
          IsPattern(word, around) && (words == &flags.paths || words == &flags.exclude);
      if (!missed(pattern ? Pattern(word, around) : path) || lstat(path.c_str(), &info) == 0)
        continue;
      return Fail(Code::kNotFound,
                  fmt::format("promote: nothing that {} changed matches {}, nothing was applied",
                              EscapeForTerminal(flags.ref), EscapeForTerminal(word)),
                  fmt::format("cloche diff {} --all --name-only lists what it changed",
                              EscapeForTerminal(flags.ref)));
    }
  return {};
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

Result<PromoteAnswer> PlanWithoutTriggers(const std::string& target, const PromoteAnswer& plan,
                                          Json& body) {
  for (const Json& each : Field(plan.json, "triggers"))
    if (Text(each, "severity") == "alarm")
      WriteAll(STDERR_FILENO,
               fmt::format("cloche: skipped: {}: {}\n", EscapeForTerminal(Text(each, "path")),
                           EscapeForTerminal(Text(each, "reason"))));
  SkipTriggers(plan, body);
  return AskPromote(target, body);
}

// Reads the plan, lets the person choose, and reads the plan of the choice.
Result<PromoteAnswer> ChosenPlan(const std::string& target, const PromoteFlags& flags,
                                 const Surroundings& around, Json& body) {
  const bool choosing = flags.interactive || !flags.merge_tool.empty();
  if (choosing) body["with_texts"] = true;
  auto plan = AskPromote(target, body);
  body.erase("with_texts");
  if (plan) CLOCHE_TRY(CheckWords(plan->json, flags, around));
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

Result<PromoteAnswer> Plan(const std::string& target, const PromoteFlags& flags,
                           const Surroundings& around, Json& body) {
  auto plan = ChosenPlan(target, flags, around, body);
  if (!plan || !flags.skip_triggers || !Alarmed(plan->json)) return plan;
  return PlanWithoutTriggers(target, *plan, body);
}

enum class Approval { kAll, kWithoutTriggers };

// Asks for confirmation at the terminal; changes that make something run later need one of their
// own.
Result<Approval> Approve(const PromoteAnswer& plan, const PromoteFlags& flags) {
  const bool asks = !flags.json && isatty(STDIN_FILENO) != 0;
  const size_t changes = plan.changes.size();
  if (Alarmed(plan.json) && !flags.allow_triggers) {
    if (!asks)
      return Fail(Code::kDenied,
                  "promote: some changes need a yes of their own, nothing was applied",
                  "look at them (--dry-run), then give --allow-triggers, or leave them out: "
                  "--skip-triggers, or --exclude PATH");
    const char answer = AskLetter(
        "Some changes need a yes of their own, see above. Apply them too, skip them, or abort?",
        "y,s,a", "y: apply them too; s: skip them, apply the rest; a: abort, nothing is applied\n");
    if (answer == 'a') return Fail(Code::kConflict, "promote: not confirmed, nothing was applied");
    if (answer == 's') return Approval::kWithoutTriggers;
  }
  if (flags.yes) return Approval::kAll;
  if (!asks)
    return Fail(Code::kInvalid, "promote: confirmation needs a terminal", "look, then pass --yes");
  if (!Confirmed(fmt::format("Apply {} change{} to reality?", changes, changes == 1 ? "" : "s")))
    return Fail(Code::kConflict, "promote: not confirmed, nothing was applied");
  return Approval::kAll;
}

// A value is the exit status to leave with: there is nothing to apply, or it cannot be.
std::optional<int> ShowOrEnd(const PromoteAnswer& plan, const PromoteFlags& flags,
                             const Surroundings& around) {
  const bool conflicts = !Field(plan.json, "conflicts").empty();
  const bool nothing = plan.changes.empty();
  if (flags.json) {
    if (conflicts || flags.dry_run || nothing) PrintAnswer(plan);
    if (conflicts) return ExitStatus(Code::kConflict);
  } else {
    TellRecovered(plan.json);
    ShowPlan(plan, around);
    if (conflicts) ShowConflicts(plan.json);
    if (conflicts) return PrintError(ConflictError(plan.json));
    if (nothing) WriteAll(STDERR_FILENO, "cloche: nothing to apply\n");
  }
  return flags.dry_run || nothing ? std::optional(0) : std::nullopt;
}

// Once it is being applied it is finished, even if nobody listens.
void LeaveApplying(int) {
  static constexpr char kText[] =
      "\ncloche: interrupted; what had begun is finished in the background: cloche promotions "
      "shows it, cloche "
      "undo takes it back\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(kExitInterrupted);
}

int Apply(const std::string& target, const PromoteFlags& flags, const Json& body) {
  signal(SIGINT, LeaveApplying);
  const auto done = AskPromote(target, body);
  if (!done) return PrintError(done.error(), flags.json);
  const bool conflicts = !Field(done->json, "conflicts").empty();
  const std::string id = EscapeForTerminal(Text(done->json, "id"));
  if (flags.json) {
    PrintAnswer(*done);
    return conflicts ? ExitStatus(Code::kConflict) : id.empty() ? ExitStatus(Code::kDenied) : 0;
  }
  if (conflicts) {
    ShowConflicts(done->json);
    return PrintError(ConflictError(done->json));
  }
  if (id.empty())
    return PrintError({Code::kDenied,
                       "promote: the changes differ from what was shown, nothing was applied",
                       "look again: cloche promote " + EscapeForTerminal(flags.ref)});
  WriteAll(STDERR_FILENO, fmt::format("cloche: applied; cloche undo {} takes it back\n", id));
  if (const std::string why = Text(done->json, "not_shown"); !why.empty())
    WriteAll(STDERR_FILENO,
             fmt::format("cloche: running sandboxes may show what was there before: {}\n",
                         EscapeForTerminal(why)));
  WriteAll(STDOUT_FILENO, id + "\n");
  return 0;
}

}  // namespace

int Promote(Arguments arguments) {
  PromoteFlags flags;
  CLI::App app("Applies what a sandbox changed to reality: all of it or nothing.",
               "cloche promote");
  app.add_option("SANDBOX", flags.ref, "id, unique prefix of it, or name")->required();
  app.add_option("PATH", flags.paths,
                 "only these and what is below, or a pattern; default: the sandbox's project");
  AddList(app, "--exclude", flags.exclude,
          "not this and what is below; or a pattern: '.git/**', '*.log'");
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
  app.add_flag("--skip-triggers", flags.skip_triggers,
               "leave out what makes something run later, apply the rest");
  app.add_flag("--with-noise", flags.with_noise,
               "also caches, logs and the like, which diff does not show");
  AddJsonFlag(app, flags.json);
  if (auto status = Parse(app, "SANDBOX [PATH...]", arguments)) return *status;
  const auto fail = [&](const Error& error) { return PrintError(error, flags.json); };
  if (flags.interactive && (flags.json || isatty(STDIN_FILENO) == 0))
    return fail({Code::kInvalid, "promote: --interactive needs a terminal and no --json",
                 "choose with PATH and --exclude"});

  if (flags.allow_triggers && flags.skip_triggers)
    return fail({Code::kInvalid, "promote: --allow-triggers and --skip-triggers exclude each other",
                 "leave out one of them"});

  auto around = ReadSurroundings();
  if (!around) return fail(around.error());
  if (const auto read = ReadProjectFile(*around); !read) return fail(read.error());
  const auto target = SandboxTarget(flags.ref, "/promote");
  if (!target) return fail(target.error());
  // The sandbox's own project, wherever this is called.
  std::string project;
  if (flags.paths.empty()) {
    const auto sandbox = Call("GET", *SandboxTarget(flags.ref));
    if (!sandbox) return fail(sandbox.error());
    project = PlaceOf(*sandbox);
  }
  Json body = RequestBody(flags, project, *around);
  auto plan = Plan(*target, flags, *around, body);
  for (;;) {
    if (!plan) return fail(plan.error());
    if (const auto ended = ShowOrEnd(*plan, flags, *around)) return *ended;
    const auto approved = Approve(*plan, flags);
    if (!approved) return fail(approved.error());
    if (*approved == Approval::kAll) break;
    plan = PlanWithoutTriggers(*target, *plan, body);
  }
  body["allow_triggers"] = Alarmed(plan->json);
  body["dry_run"] = false;
  body["digest"] = Field(plan->json, "digest");
  plan->changes = {};  // they come once more
  return Apply(*target, flags, body);
}

}  // namespace cloche::cli
