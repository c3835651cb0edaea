#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"
#include "cli/stream.h"

namespace cloche::cli {
namespace {

// Without a command's id: the last one of the sandbox.
Result<std::string> CommandTarget(const std::string& ref, std::string command) {
  if (command.empty()) {
    ASSIGN_OR_RETURN(const std::string list, SandboxTarget(ref, "/commands"));
    ASSIGN_OR_RETURN(const Json commands, Call("GET", list));
    if (!commands.is_array() || commands.empty())
      return Fail(Code::kNotFound, fmt::format("no command ran in {} yet", ref),
                  fmt::format("cloche exec {} -- COMMAND", ref));
    command = Text(commands.back(), "id");
  }
  return SandboxTarget(ref, "/commands/" + EncodeSegment(command));
}

Result<std::string> Output(const std::string& target, const std::string& stream) {
  return CallForBytes(target + "/output" + QueryString({{"stream", stream}}));
}

int PrintLogJson(const std::string& target) {
  auto result = Call("GET", target);
  if (!result) return PrintError(result.error(), true);
  for (const char* stream : {"stdout", "stderr"}) {
    auto bytes = Output(target, stream);
    if (!bytes) return PrintError(bytes.error(), true);
    (*result)[stream] = *std::move(bytes);
  }
  PrintJson(*result);
  return 0;
}

int Follow(const std::string& target) {
  auto connection = CallForStream(target + "/attach", Json::object());
  if (!connection) return PrintError(connection.error());
  const auto outcome = Relay(*std::move(connection), {.follow_only = true});
  if (!outcome) return PrintError(outcome.error());
  return outcome->left_status.value_or(0);
}

}  // namespace

int Logs(Arguments arguments) {
  bool json = false;
  bool follow = false;
  std::string ref;
  std::string command;
  std::string stream;
  CLI::App app("Prints the kept output of a command, by default of the last one.", "cloche logs");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  app.add_option("COMMAND", command, "the command's id; default: the last");
  CLI::Option* follow_flag = app.add_flag("-f,--follow", follow, "and what it writes from now on");
  app.add_option("--stream", stream, "stdout, stderr or both (default)")
      ->check(CLI::IsMember({"stdout", "stderr", "both"}).description(""))
      ->type_name("NAME")
      ->excludes(follow_flag);
  AddJsonFlag(app, json)->excludes(follow_flag);
  if (auto status = Parse(app, "SANDBOX [COMMAND]", arguments)) return *status;

  const auto target = CommandTarget(ref, command);
  if (!target) return PrintError(target.error(), json);
  if (follow) return Follow(*target);
  if (json) return PrintLogJson(*target);
  const auto bytes = Output(*target, stream);
  if (!bytes) return PrintError(bytes.error());
  WriteAll(STDOUT_FILENO, isatty(STDOUT_FILENO) ? LinesForTerminal(*bytes) : *bytes);
  return 0;
}

}  // namespace cloche::cli
