#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/defaults.h"
#include "cli/git_head.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/session.h"
#include "cli/shell_mark.h"
#include "cli/surroundings.h"
#include "cli/unpromoted.h"

namespace cloche::cli {
namespace {

struct ShellFlags {
  SandboxFlags sandbox;
  CommandFlags command;
  OutputFlags output;
  std::string ref;
  bool keep = false, force = false;
};

std::string PreferredShell() {
  const char* shell = getenv("SHELL");
  return shell != nullptr && shell[0] == '/' ? shell : "/bin/sh";
}

// Flags that make a sandbox mean nothing to one that exists; ignoring them would be a lie.
Status CheckFlagsForExisting(const CLI::App& app) {
  constexpr std::array<std::string_view, 10> kAllowed = {"SANDBOX",  "--env",   "--agent", "--wall",
                                                         "--output", "-t",      "-T",      "--json",
                                                         "--quiet",  "--timing"};
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && std::ranges::find(kAllowed, option->get_name()) == kAllowed.end())
      return Fail(Code::kInvalid, fmt::format("{}: the sandbox exists already", option->get_name()),
                  "give it to cloche new, or leave the sandbox out");
  return {};
}

void TellShell(const std::string& text) {
  WriteAll(STDERR_FILENO, Coloured(ColourWanted(STDERR_FILENO), "2", "cloche: " + text) + "\n");
}

// The name if there is one, since it is shorter.
std::string LabelOf(const Json& sandbox) {
  const std::string name = Text(sandbox, "name");
  return EscapeForTerminal(name.empty() ? Text(sandbox, "id") : name);
}

int Remove(const std::string& id, int status) {
  const auto target = SandboxTarget(id);
  const auto removed =
      target ? Call("DELETE", *target) : Result<Json>(std::unexpected(target.error()));
  if (removed) return status;
  PrintError(removed.error());
  return kOwnFailure;
}

// Work that nobody promoted is not thrown away without a word. With nobody to ask it is kept.
int LeaveDisposable(const Json& sandbox, const ShellFlags& flags, int status) {
  const std::string id = Text(sandbox, "id"), label = LabelOf(sandbox);
  const auto count = CountUnpromoted(id);
  const auto stays = [&](const std::string& why) {
    TellShell(fmt::format(
        "{}; {} is kept: cloche shell {}, cloche diff {}, cloche promote {}, cloche rm {}", why,
        label, label, label, label, label));
    return status;
  };
  if (flags.keep) return stays("you are back on the real machine");
  if (flags.force || (count && *count == 0)) return Remove(id, status);
  const std::string what = count ? DescribeUnpromoted(*count) + " not promoted"
                                 : "cannot tell what changed: " + count.error().message;
  if (!CanAsk(flags.output.json)) return stays(what);
  const char answer = AskLetter(
      fmt::format("{}: {}. Discard, promote, or keep it?", label, EscapeForTerminal(what)), "d,p,k",
      "d: discard the sandbox with all that changed in it; p: show the changes, ask, and apply "
      "them to reality; k: keep the sandbox\n");
  if (answer == 'd') return Remove(id, status);
  if (answer == 'k') return stays("you are back on the real machine");
  std::string word = id;
  char* words[] = {word.data()};
  const int promoted = Promote(words);
  const auto left = CountUnpromoted(id);
  if (promoted == 0 && left && *left == 0) return Remove(id, status);
  return stays("not all of it was promoted");
}

// At a terminal a disposable one is made first and removed last: in between it has a name, and on
// leaving there is something to ask about.
int DisposableAtTerminal(ShellFlags& flags, const Streams& streams, Surroundings& around) {
  const auto fail = [&](const Error& error) { return FailSession(error, flags.output.json); };
  around.base_commit = HeadCommit(around.project);
  const auto body = SandboxRequest(flags.sandbox, around);
  if (!body) return fail(body.error());
  const auto made = Call("POST", "/v1/sandboxes", *body);
  if (!made) return fail(made.error());
  const std::string id = Text(*made, "id"), label = LabelOf(*made);
  if (!flags.output.quiet) {
    TellShell(fmt::format("you are in {}, a copy of this machine: nothing here is real", label));
    TellShell(flags.keep ? "leave with exit or Ctrl-D; the copy is kept"
                         : "leave with exit or Ctrl-D; you are asked before work is discarded");
  }
  flags.command.env = flags.sandbox.env;
  flags.command.argv = MarkedShell(flags.command.argv[0], label);
  const auto target = SandboxTarget(id, "/commands");
  const auto command = CommandRequest(flags.command, around);
  if (!target || !command) return fail(target ? command.error() : target.error());
  const int status = RunSession(*target, *command, streams, flags.output, AfterCommand::kStays);
  return LeaveDisposable(*made, flags, status);
}

int InExisting(ShellFlags& flags, const Streams& streams, const Surroundings& around) {
  const auto fail = [&](const Error& error) { return FailSession(error, flags.output.json); };
  const auto found = SandboxTarget(flags.ref);
  if (!found) return fail(found.error());
  flags.command.env = flags.sandbox.env;
  flags.command.agent = flags.sandbox.agent;
  for (const char* name : {"wall", "output"})
    flags.command.limits[name] = flags.sandbox.limits[name];
  std::string label;
  if (streams.pty) {
    const auto sandbox = Call("GET", *found);
    if (!sandbox) return fail(sandbox.error());
    label = LabelOf(*sandbox);
    flags.command.argv = MarkedShell(flags.command.argv[0], label);
    if (!flags.output.quiet) {
      TellShell(fmt::format("you are in {}, a copy of this machine: nothing here is real", label));
      TellShell("leave with exit or Ctrl-D; the copy stays");
    }
  }
  const auto body = CommandRequest(flags.command, around);
  if (!body) return fail(body.error());
  const int status =
      RunSession(*found + "/commands", *body, streams, flags.output, AfterCommand::kStays);
  if (streams.pty && !flags.output.quiet)
    TellShell(
        fmt::format("you are back on the real machine; {} stays: cloche diff {}, cloche promote {}",
                    label, label, label));
  return status;
}

}  // namespace

int Shell(Arguments arguments) {
  ShellFlags flags;
  Terminal terminal = Terminal::kAuto;
  CLI::App app("Opens your shell in a sandbox; without one, in a disposable copy of this machine.",
               "cloche shell");
  app.add_option("SANDBOX", flags.ref, "id, unique prefix of it, or name");
  AddSandboxFlags(app, flags.sandbox);
  app.add_flag("--keep", flags.keep, "keep the disposable sandbox");
  app.add_flag("--force", flags.force, "discard the disposable sandbox without asking");
  AddTerminalFlags(app, terminal);
  AddSessionOutputFlags(app, flags.output);
  if (auto status = Parse(app, "[SANDBOX]", arguments, kOwnFailure)) return *status;
  const auto fail = [&](const Error& error) { return FailSession(error, flags.output.json); };

  flags.command.argv = {PreferredShell()};
  Streams streams = ChooseStreams(terminal, flags.output.json);
  streams.is_shell = true;
  AskForStreams(flags.command, streams);
  flags.command.timing = flags.output.timing;
  auto around = ReadSurroundings();
  if (!around) return fail(around.error());
  if (!flags.ref.empty()) {
    if (const auto fits = CheckFlagsForExisting(app); !fits) return fail(fits.error());
    return InExisting(flags, streams, *around);
  }
  if (const auto read = ReadProjectFile(*around); !read) return fail(read.error());
  const DefaultsFor which = {flags.keep, flags.output.json, flags.output.quiet};
  if (const auto taken = TakeDefaults(flags.sandbox, *around, which); !taken)
    return fail(taken.error());
  if (streams.pty) return DisposableAtTerminal(flags, streams, *around);
  const auto body = RunRequest(flags.sandbox, flags.command, flags.keep, *around);
  if (!body) return fail(body.error());
  return RunSession("/v1/run", *body, streams, flags.output, AfterCommand::kDiscarded);
}

}  // namespace cloche::cli
