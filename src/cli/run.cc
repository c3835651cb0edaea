#include "cli/command.h"
#include "cli/defaults.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/session.h"
#include "cli/surroundings.h"

namespace cloche::cli {

int Run(Arguments arguments) {
  SandboxFlags sandbox;
  CommandFlags command;
  OutputFlags output;
  Terminal terminal = Terminal::kAuto;
  bool keep = false;
  const Introduction introduction = {
      "cloche run", "Runs a command in a copy of this machine and discards the copy.",
      "-- COMMAND [ARGUMENT...]"};
  const auto add_flags = [&](CLI::App& app) {
    AddSandboxFlags(app, sandbox);
    app.add_flag("--keep", keep, "keep the sandbox, with what the command changed");
    AddTerminalFlags(app, terminal);
    AddSessionOutputFlags(app, output);
  };
  if (auto status = ParseWithCommand(introduction, arguments, add_flags, command.argv))
    return *status;

  const Streams streams = ChooseStreams(terminal, output.json);
  AskForStreams(command, streams);
  command.timing = output.timing;
  auto around = ReadSurroundings();
  if (!around) return FailSession(around.error(), output.json);
  if (const auto read = ReadProjectFile(*around); !read)
    return FailSession(read.error(), output.json);
  if (const auto taken = TakeDefaults(sandbox, *around, {keep, output.json, output.quiet}); !taken)
    return FailSession(taken.error(), output.json);
  const auto body = RunRequest(sandbox, command, keep, *around);
  if (!body) return FailSession(body.error(), output.json);
  return RunSession("/v1/run", *body, streams, output, AfterCommand::kDiscarded);
}

}  // namespace cloche::cli
