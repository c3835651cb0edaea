#include "cli/command.h"
#include "cli/each.h"
#include "cli/options.h"
#include "cli/parse.h"

namespace cloche::cli {

int Stop(Arguments arguments) {
  bool all = false;
  bool json = false;
  std::vector<std::string> refs;
  CLI::App app(
      "Ends all processes of sandboxes and keeps their files; the next command starts them again.",
      "cloche stop");
  app.add_option("SANDBOX", refs, "ids, unique prefixes of them, or names");
  app.add_flag("--all", all, "all that are running");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX...", arguments)) return *status;
  return ForEachSandbox({"POST", "/stop", ""}, refs, all, json);
}

}  // namespace cloche::cli
