#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {

int Refresh(Arguments arguments) {
  std::string ref;
  bool json = false;
  CLI::App app(
      "Brings what a sandbox did not change up to date with reality, and names what changed on "
      "both "
      "sides: that stays as it is inside.",
      "cloche refresh");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX", arguments)) return *status;

  const auto target = SandboxTarget(ref, "/refresh");
  if (!target) return PrintError(target.error(), json);
  const auto stale = Call("POST", *target);
  if (!stale) return PrintError(stale.error(), json);
  if (json) {
    PrintJson(*stale);
    return 0;
  }
  WriteAll(STDERR_FILENO,
           fmt::format("cloche: {} sees {:.0f} path{} anew\n", EscapeForTerminal(ref),
                       Number(*stale, "changed") - Number(*stale, "both"),
                       Number(*stale, "changed") - Number(*stale, "both") == 1 ? "" : "s"));
  for (const Json& path : Field(*stale, "both_paths"))
    if (path.is_string())
      WriteAll(STDOUT_FILENO, "changed on both sides, left as it is inside: " +
                                  EscapeForTerminal(path.get<std::string>()) + "\n");
  return 0;
}

}  // namespace cloche::cli
