#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {
namespace {

constexpr size_t kMostLookedAt = 50;  // each is a look at its project

// "3 changed, 1 here too"
std::string DescribeBehind(const Json& sandbox) {
  if (!Flag(sandbox, "keep")) return "-";
  const auto target = SandboxTarget(Text(sandbox, "id"), "/staleness");
  const auto stale = target ? Call("GET", *target) : Result<Json>(Json());
  if (!stale || Number(*stale, "changed") == 0) return "-";
  std::string text = fmt::format("{:.0f} changed", Number(*stale, "changed"));
  if (const double both = Number(*stale, "both"); both > 0)
    text += fmt::format(", {:.0f} here too", both);
  return text;
}

}  // namespace

int Ls(Arguments arguments) {
  bool all = false;
  bool json = false, quiet = false;
  std::string agent;
  std::string task;
  std::vector<std::string> labels;
  CLI::App app("Lists your sandboxes.", "cloche ls");
  app.add_flag("-a,--all", all, "those that ended, too");
  app.add_flag("-q,--quiet", quiet, "ids only");
  app.add_option("--agent", agent, "only those of this agent")->type_name("NAME");
  app.add_option("--task", task, "only those of this task")->type_name("TEXT");
  AddList(app, "--label", labels, "only those with this label", "KEY=VALUE");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;

  std::vector<std::pair<std::string, std::string>> query = {
      {"all", all ? "1" : ""}, {"agent", agent}, {"task", task}};
  for (const std::string& label : labels) query.emplace_back("label", label);
  const auto sandboxes = Call("GET", "/v1/sandboxes" + QueryString(query));
  if (!sandboxes) return PrintError(sandboxes.error(), json);
  if (json) {
    PrintJson(*sandboxes);
    return 0;
  }
  if (quiet) {
    for (const Json& sandbox : *sandboxes)
      WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(sandbox, "id")) + "\n");
    return 0;
  }
  const char* home = getenv("HOME");
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  const time_t now = time(nullptr);
  Table table({"ID", "NAME", "STATE", "AGE", "BEHIND", "AGENT", "COMMANDS", "PROJECT", "TASK"});
  table.AlignRight(6);
  size_t looked = 0;
  for (const Json& sandbox : *sandboxes)
    table.AddRow(
        {Text(sandbox, "id"), or_dash(Text(sandbox, "name")), DescribeState(sandbox),
         DescribeAge(Text(sandbox, "created"), now),
         ++looked > kMostLookedAt ? "?" : DescribeBehind(sandbox), or_dash(Text(sandbox, "agent")),
         fmt::format("{:.0f}", Number(sandbox, "commands")),
         DescribePlace(PlaceOf(sandbox), home == nullptr ? "" : home), Text(sandbox, "task")});
  if (!table.empty()) WriteAll(STDOUT_FILENO, table.Render(ColourWanted(STDOUT_FILENO)));
  return 0;
}

}  // namespace cloche::cli
