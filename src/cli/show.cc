#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {

int Show(Arguments arguments) {
  bool json = false;
  std::string ref;
  CLI::App app("Shows one sandbox.", "cloche show");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX", arguments)) return *status;

  const auto target = SandboxTarget(ref);
  if (!target) return PrintError(target.error(), json);
  auto sandbox = Call("GET", *target);
  if (!sandbox) return PrintError(sandbox.error(), json);
  // A sandbox whose base is gone is still shown.
  const auto stale = Call("GET", *target + "/staleness");
  if (json) {
    (*sandbox)["staleness"] = stale ? *stale : Json();
    PrintJson(*sandbox);
  } else {
    WriteAll(STDOUT_FILENO, DescribeSandbox(*sandbox, stale ? *stale : Json(), time(nullptr),
                                            ColourWanted(STDOUT_FILENO)));
  }
  return 0;
}

int Inspect(Arguments arguments) {
  static char json[] = "--json";
  std::vector<char*> words(arguments.begin(), arguments.end());
  if (std::ranges::find(words, std::string_view(json)) == words.end()) words.push_back(json);
  return Show(words);
}

}  // namespace cloche::cli
