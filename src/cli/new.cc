#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/git_head.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/surroundings.h"

namespace cloche::cli {

int New(Arguments arguments) {
  SandboxFlags sandbox;
  bool json = false;
  CLI::App app("Makes a sandbox that stays until cloche rm, and prints its id.", "cloche new");
  AddSandboxFlags(app, sandbox);
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;

  auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  around->base_commit = HeadCommit(around->project);
  const auto body = SandboxRequest(sandbox, *around);
  if (!body) return PrintError(body.error(), json);
  const auto made = Call("POST", "/v1/sandboxes", *body);
  if (!made) return PrintError(made.error(), json);
  if (json) {
    PrintJson(*made);
    return 0;
  }
  for (const Json& reason : Field(*made, "not_enforced"))
    if (reason.is_string())
      WriteAll(STDERR_FILENO,
               "cloche: not enforced here: " + EscapeForTerminal(reason.get<std::string>()) + "\n");
  WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(*made, "id")) + "\n");
  return 0;
}

}  // namespace cloche::cli
