#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/session.h"
#include "cli/surroundings.h"

namespace cloche::cli {
namespace {

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

}  // namespace

int Shell(Arguments arguments) {
  SandboxFlags sandbox;
  CommandFlags command;
  OutputFlags output;
  Terminal terminal = Terminal::kAuto;
  std::string ref;
  bool keep = false;
  CLI::App app("Opens your shell in a sandbox; without one, in a disposable copy of this machine.",
               "cloche shell");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name");
  AddSandboxFlags(app, sandbox);
  app.add_flag("--keep", keep, "keep the disposable sandbox");
  AddTerminalFlags(app, terminal);
  AddSessionOutputFlags(app, output);
  if (auto status = Parse(app, "[SANDBOX]", arguments, kOwnFailure)) return *status;

  command.argv = {PreferredShell()};
  const Streams streams = ChooseStreams(terminal, output.json);
  Connect(command, streams);
  command.timing = output.timing;
  auto around = ReadSurroundings();
  if (!around) return FailSession(around.error(), output.json);
  if (ref.empty()) {
    if (const auto read = ReadProjectFile(*around, keep); !read)
      return FailSession(read.error(), output.json);
    const auto body = RunRequest(sandbox, command, keep, *around);
    if (!body) return FailSession(body.error(), output.json);
    return RunSession("/v1/run", *body, streams, output, AfterCommand::kDiscarded);
  }
  const auto target = SandboxTarget(ref, "/commands");
  if (!target) return FailSession(target.error(), output.json);
  if (const auto fits = CheckFlagsForExisting(app); !fits)
    return FailSession(fits.error(), output.json);
  command.env = sandbox.env;
  command.agent = sandbox.agent;
  for (const char* name : {"wall", "output"}) command.limits[name] = sandbox.limits[name];
  const auto body = CommandRequest(command, *around);
  if (!body) return FailSession(body.error(), output.json);
  return RunSession(*target, *body, streams, output, AfterCommand::kStays);
}

}  // namespace cloche::cli
