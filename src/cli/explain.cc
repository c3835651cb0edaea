#include <unistd.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/defaults.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"
#include "cli/surroundings.h"

namespace cloche::cli {

int Explain(Arguments arguments) {
  SandboxFlags sandbox;
  bool json = false;
  bool differences = false;
  CLI::App app("Prints what a sandbox with these options would be made of. Starts nothing.",
               "cloche explain");
  AddSandboxFlags(app, sandbox);
  app.add_flag("--differences", differences, "only how it differs from this machine");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;

  auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  if (const auto read = ReadProjectFile(*around); !read) return PrintError(read.error(), json);
  if (const auto taken = TakeDefaults(sandbox, *around, {.json = json}); !taken)
    return PrintError(taken.error(), json);
  const auto body = SandboxRequest(sandbox, *around);
  if (!body) return PrintError(body.error(), json);
  auto explanation = Call("POST", "/v1/explain", *body);
  if (!explanation) return PrintError(explanation.error(), json);
  // The daemon never sees what was dropped here.
  if (const auto environment = ChooseEnvironment(around->environment, sandbox.env)) {
    (*explanation)["dropped_secrets"] = environment->dropped_secrets;
    Json dropped = environment->dropped_other;
    for (const Json& name : Field(*explanation, "dropped_env")) dropped.push_back(name);
    (*explanation)["dropped_env"] = std::move(dropped);
  }
  if (json) {
    PrintJson(*explanation);
  } else {
    // Lines made by policy/print.cc, which escapes every path in them.
    std::string text = Text(*explanation, differences ? "differences_text" : "text");
    WriteAll(STDOUT_FILENO, text + DescribeDropped(*explanation, ColourWanted(STDOUT_FILENO)));
  }
  return 0;
}

}  // namespace cloche::cli
