#include <unistd.h>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/surroundings.h"

namespace cloche::cli {
namespace {

int StartInBackground(const std::string& target, const Body& body, bool json) {
  const auto started = Call("POST", target, body);
  if (!started) return FailSession(started.error(), json);
  if (const Json& error = Field(*started, "error"); error.is_object() && !json) {
    FailSession(ErrorFromJson(error), json);
    return static_cast<int>(Number(*started, "exit_status"));
  }
  if (json) {
    PrintJson(*started);
  } else {
    WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(*started, "id")) + "\n");
  }
  return 0;
}

}  // namespace

int Exec(Arguments arguments) {
  CommandFlags command;
  OutputFlags output;
  Terminal terminal = Terminal::kAuto;
  std::string ref;
  const Introduction introduction = {"cloche exec", "Runs a command in a sandbox.",
                                     "SANDBOX -- COMMAND [ARGUMENT...]"};
  const auto add_flags = [&](CLI::App& app) {
    AddCommandFlags(app, command);
    app.add_flag("-d,--background", command.background,
                 "do not wait; print the command's id, for cloche logs");
    AddTerminalFlags(app, terminal);
    AddSessionOutputFlags(app, output);
  };
  if (auto status = ParseWithCommand(introduction, arguments, add_flags, command.argv, &ref))
    return *status;

  const auto target = SandboxTarget(ref, "/commands");
  if (!target) return FailSession(target.error(), output.json);
  Streams streams;
  if (!command.background) streams = ChooseStreams(terminal, output.json);
  AskForStreams(command, streams);
  command.timing = output.timing;
  const auto around = ReadSurroundings();
  if (!around) return FailSession(around.error(), output.json);
  const auto body = CommandRequest(command, *around);
  if (!body) return FailSession(body.error(), output.json);
  if (command.background) return StartInBackground(*target, *body, output.json);
  return RunSession(*target, *body, streams, output, AfterCommand::kStays);
}

}  // namespace cloche::cli
