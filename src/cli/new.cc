#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/defaults.h"
#include "cli/git_head.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"
#include "cli/surroundings.h"
#include "cli/with_service.h"

namespace cloche::cli {
namespace {

void AddServiceFlags(CLI::App& app, ServiceFlags& flags) {
  AddList(app, "--with-service", flags.services,
          "run a copy of this service of the machine in it, on a copy of its data",
          "PORT|PID|UNIT");
  AddList(app, "--service-data", flags.data, "copy this for it, instead of what it has open");
  app.add_option("--service-command", flags.command, "start it so, where that cannot be found")
      ->type_name("COMMAND");
}

// Without its services it is not what was asked for.
Result<Json> AddServices(const Json& made, const std::vector<Json>& services, bool json) {
  auto ready = CopyServices(Text(made, "id"), services, json);
  if (ready) return ready;
  const auto target = SandboxTarget(Text(made, "id"));
  if (target) (void)Call("DELETE", *target);
  return ready;
}

}  // namespace

int New(Arguments arguments) {
  SandboxFlags sandbox;
  bool json = false;
  CLI::App app("Makes a sandbox that stays until cloche rm, and prints its id.", "cloche new");
  AddSandboxFlags(app, sandbox);
  ServiceFlags service_flags;
  AddServiceFlags(app, service_flags);
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;

  auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  around->base_commit = HeadCommit(around->project);
  if (const auto read = ReadProjectFile(*around); !read) return PrintError(read.error(), json);
  if (const auto taken = TakeDefaults(sandbox, *around, {.keep = true, .json = json}); !taken)
    return PrintError(taken.error(), json);
  const auto body = SandboxRequest(sandbox, *around);
  if (!body) return PrintError(body.error(), json);
  if (!service_flags.services.empty() &&
      (body->contains("declared") || Text(*body, "base", "host") != "host"))
    return PrintError({Code::kConflict, "--with-service: the sandbox is not a copy of this machine",
                       "leave out --base and --declared"},
                      json);
  const auto services = FindServices(service_flags);
  if (!services) return PrintError(services.error(), json);
  auto made = Call("POST", "/v1/sandboxes", *body);
  if (!made) return PrintError(made.error(), json);
  if (!services->empty()) {
    const auto ready = AddServices(*made, *services, json);
    if (!ready) return PrintError(ready.error(), json);
    (*made)["services"] = *ready;
    if (!json) WriteAll(STDERR_FILENO, ServiceTable(*ready, ColourWanted(STDERR_FILENO)));
  }
  if (json) {
    PrintJson(*made);
    return 0;
  }
  WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(*made, "id")) + "\n");
  return 0;
}

}  // namespace cloche::cli
