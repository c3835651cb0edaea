#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"

namespace cloche::cli {
namespace {

std::string NameOf(const Json& snapshot) {
  const std::string name = Text(snapshot, "name");
  return EscapeForTerminal(name.empty() ? Text(snapshot, "id") : name);
}

int RollBack(const std::string& ref, const Json& body, bool json) {
  const auto target = SandboxTarget(ref, "/rollback");
  if (!target) return PrintError(target.error(), json);
  const auto answer = Call("POST", *target, body);
  if (!answer) return PrintError(answer.error(), json);
  if (json) {
    PrintJson(*answer);
    return 0;
  }
  WriteAll(STDERR_FILENO,
           fmt::format("cloche: {} is at {} again; what it was is {} (cloche rollback {} {})\n",
                       EscapeForTerminal(ref), NameOf(Field(*answer, "rolled_back_to")),
                       NameOf(Field(*answer, "kept_as")), EscapeForTerminal(ref),
                       NameOf(Field(*answer, "kept_as"))));
  for (const Json& service : Field(*answer, "services"))
    if (Text(service, "state") != "ready")
      return PrintError(
          {Code::kUnavailable,
           fmt::format("start service {}: {}", Text(service, "name"), Text(service, "reason")),
           fmt::format("its output: cloche services {} {}", ref, Text(service, "name"))});
  return 0;
}

}  // namespace

int Rollback(Arguments arguments) {
  std::string ref, snapshot;
  bool json = false;
  CLI::App app(
      "Returns a sandbox to a saved state, by default the one it was in last. Its processes end; "
      "what it was is "
      "kept as a snapshot, so that the way forward again stays open.",
      "cloche rollback");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  app.add_option("SNAPSHOT", snapshot, "id, unique prefix of it, or name");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX [SNAPSHOT]", arguments)) return *status;
  Json body = Json::object();
  if (!snapshot.empty()) body["snapshot"] = snapshot;
  return RollBack(ref, body, json);
}

int UndoCommand(Arguments arguments) {
  std::string ref;
  bool json = false;
  CLI::App app(
      "Returns a sandbox made with --auto-snapshot every-command to the state before its last "
      "command; again: before the one before.",
      "cloche undo-command");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX", arguments)) return *status;
  return RollBack(ref, Json{{"undo_command", true}}, json);
}

}  // namespace cloche::cli
