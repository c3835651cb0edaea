#include "cli/command.h"
#include "cli/each.h"
#include "cli/options.h"
#include "cli/parse.h"

namespace cloche::cli {

int Rm(Arguments arguments) {
  bool all = false;
  bool json = false;
  std::vector<std::string> refs;
  CLI::App app("Ends and removes sandboxes with all they changed.", "cloche rm");
  app.add_option("SANDBOX", refs, "ids, unique prefixes of them, or names");
  app.add_flag("--all", all, "all of yours, the ended ones too");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX...", arguments)) return *status;
  return ForEachSandbox({"DELETE", "", "?all=1"}, refs, all, json);
}

}  // namespace cloche::cli
