#include "cli/promote_show.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "change/model/summary.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {
namespace {

// Changes that make something run later come first, with the lines that do it.
void ShowTriggers(const Json& plan) {
  const bool colour = ColourWanted(STDOUT_FILENO);
  for (const Json& each : Field(plan, "triggers")) {
    const bool alarm = Text(each, "severity") == "alarm";
    WriteAll(STDOUT_FILENO,
             Coloured(colour, alarm ? "1;31" : "33", alarm ? AlarmLabel(each) : "look at") + ": " +
                 EscapeForTerminal(Text(each, "path")) + ": " +
                 EscapeForTerminal(Text(each, "reason")) + "\n");
    for (const Json& line : Field(each, "effective"))
      if (line.is_string())
        WriteAll(STDOUT_FILENO, "    " + EscapeForTerminal(line.get<std::string>()) + "\n");
  }
}

void ShowChanges(const PromoteAnswer& plan, const Surroundings& around) {
  change::StatOptions options;
  options.root = around.project.empty() ? around.cwd : around.project;
  options.width = 100;
  options.colour = ColourWanted(STDOUT_FILENO);
  change::StatTable table(options);
  for (const std::string& each : plan.changes)
    if (const auto change = change::DecodeJsonLine(each)) table.Add(*change);
  WriteAll(STDOUT_FILENO, table.Render());
  for (const Json& path : Field(plan.json, "merged"))
    if (path.is_string())
      WriteAll(STDOUT_FILENO, " merged: " + EscapeForTerminal(path.get<std::string>()) +
                                  ": reality has changed it too, in other places\n");
  for (const Json& note : Field(plan.json, "notes"))
    if (note.is_string())
      WriteAll(STDOUT_FILENO, " note: " + EscapeForTerminal(note.get<std::string>()) + "\n");
}

// Changes that diff does not show are not applied either.
void ShowLeftOut(const Json& plan) {
  double files = 0;
  std::string groups;
  for (const auto& [group, count] : Field(plan, "left_out").items()) {
    if (!count.is_number()) continue;
    files += count.get<double>();
    groups += fmt::format("{}{:.0f} {}", groups.empty() ? "" : ", ", count.get<double>(),
                          EscapeForTerminal(group));
  }
  if (files == 0) return;
  WriteAll(
      STDERR_FILENO,
      fmt::format("cloche: {:.0f} file{} of build noise {} left out ({}); name {} to apply {}, "
                  "or pass --with-noise\n",
                  files, files == 1 ? "" : "s", files == 1 ? "was" : "were", groups,
                  files == 1 ? "it" : "them", files == 1 ? "it" : "them"));
}

}  // namespace

void TellRecovered(const Json& answer) {
  for (const Json& each : Field(answer, "recovered")) {
    const std::string id = EscapeForTerminal(Text(each, "id")), what = Text(each, "what");
    if (what.empty())
      WriteAll(STDERR_FILENO, fmt::format("cloche: {} was cut short\n", id));
    else if (what != "left over")
      WriteAll(STDERR_FILENO, fmt::format("cloche: {} was cut short and is {} now\n", id, what));
    for (const Json& problem : Field(each, "problems"))
      if (problem.is_string())
        WriteAll(STDERR_FILENO, "cloche: not yet as it was: " +
                                    EscapeForTerminal(problem.get<std::string>()) + "\n");
    if (const std::string cure = Text(each, "cure"); !cure.empty())
      WriteAll(STDERR_FILENO, "cloche:   " + EscapeForTerminal(cure) + "\n");
  }
}

void ShowPlan(const PromoteAnswer& plan, const Surroundings& around) {
  ShowTriggers(plan.json);
  ShowChanges(plan, around);
  ShowLeftOut(plan.json);
}

void ListOnStandardError(const std::string& line) {
  WriteAll(STDERR_FILENO, "  " + EscapeForTerminal(line) + "\n");
}

void ShowConflicts(const Json& plan) {
  for (const Json& each : Field(plan, "conflicts")) {
    ListOnStandardError(Text(each, "path") + ": " + Text(each, "reason"));
    for (const Json& line : Field(each, "shown"))
      if (line.is_string()) ListOnStandardError("  " + line.get<std::string>());
    if (const std::string cure = Text(each, "cure"); !cure.empty())
      ListOnStandardError("  cure: " + cure);
  }
}

}  // namespace cloche::cli
