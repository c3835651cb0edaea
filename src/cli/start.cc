#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/each.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/request.h"

namespace cloche::cli {

int Start(Arguments arguments) {
  bool all = false, json = false;
  std::vector<std::string> refs;
  CLI::App app(
      "Starts sandboxes that are stopped, with their services. Not needed before a command: that "
      "starts them, too.",
      "cloche start");
  app.add_option("SANDBOX", refs, "ids, unique prefixes of them, or names");
  app.add_flag("--all", all, "all of yours");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX...", arguments)) return *status;
  return ForEachSandbox({"POST", "/start", ""}, refs, all, json);
}

int Rename(Arguments arguments) {
  std::string ref, name;
  bool json = false;
  CLI::App app("Gives a sandbox another name.", "cloche rename");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  app.add_option("NAME", name, "1 to 63 of a-z, 0-9 and -, starting with a letter")->required();
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX NAME", arguments)) return *status;
  const auto target = SandboxTarget(ref);
  if (!target) return PrintError(target.error(), json);
  const auto renamed = Call("PATCH", *target, Json{{"name", name}});
  if (!renamed) return PrintError(renamed.error(), json);
  if (json)
    PrintJson(*renamed);
  else
    WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(*renamed, "id")) + "\n");
  return 0;
}

}  // namespace cloche::cli
