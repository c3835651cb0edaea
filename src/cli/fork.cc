#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"

namespace cloche::cli {

int Fork(Arguments arguments) {
  std::string ref;
  std::vector<std::string> names;
  LimitFlags limits;
  int count = 1;
  bool json = false;
  CLI::App app(
      "Makes sandboxes that start from the state of another, or from a snapshot, and prints their "
      "ids. They share storage, and have no more rights and no larger limits.",
      "cloche fork");
  app.add_option("FROM", ref, "a sandbox, or the id of a snapshot (sn_...)")->required();
  CLI::Option* counted = app.add_option("-n,--count", count, "how many")->type_name("N");
  AddList(app, "--name", names, "a name; repeat it for several", "NAME");
  AddLimitFlags(app, limits);
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX|SNAPSHOT", arguments)) return *status;

  const auto target =
      ref.starts_with("sn_") ? SnapshotTarget(ref, "/fork") : SandboxTarget(ref, "/fork");
  if (!target) return PrintError(target.error(), json);
  const auto asked = LimitsBody(limits);
  if (!asked) return PrintError(asked.error(), json);
  Json body = Json::object();
  if (counted->count() > 0 || names.empty()) body["count"] = count;
  if (!names.empty()) body["names"] = names;
  if (!asked->empty()) body["limits"] = *asked;
  const auto forks = Call("POST", *target, body);
  if (!forks) return PrintError(forks.error(), json);
  if (json) {
    PrintJson(*forks);
    return 0;
  }
  for (const Json& fork : *forks)
    WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(fork, "id")) + "\n");
  return 0;
}

}  // namespace cloche::cli
