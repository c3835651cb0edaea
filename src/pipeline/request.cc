#include "pipeline/request.h"

#include <fmt/core.h>

#include "base/text.h"
#include "change/model/change.h"
#include "change/model/summary.h"
#include "cli/sandbox_view.h"

namespace cloche::pipeline {
namespace {

using cli::Coloured;
using cli::Field;
using cli::Text;

constexpr size_t kMostChangesText = 64 << 20;

std::string CheckLines(const Run& run, size_t last) {
  std::string lines;
  for (size_t i = 0; i <= last; ++i)
    for (const char* step : {"verify", "check"}) {
      const auto found = run.progress[i].steps.find(step);
      if (found == run.progress[i].steps.end()) continue;
      for (const Json& each : Field(found->second, "results")) {
        const auto status = static_cast<int>(cli::Number(each, "status"));
        lines += fmt::format("    {} {}: {}: {} ({:.1f} s)\n", run.stages[i].name, step,
                             EscapeForTerminal(Text(each, "command")),
                             status == 0 ? "passed" : fmt::format("exit status {}", status),
                             cli::Number(each, "seconds"));
      }
    }
  return lines.empty() ? "    none\n" : lines;
}

std::string Affected(const Run& run, size_t stage, const Subject& subject) {
  const project::Stage& what = run.stages[stage];
  std::string text = EscapeForTerminal(what.affects);
  if (what.apply)
    text += fmt::format("{}{} path{} of {} on this machine", text.empty() ? "" : "; ",
                        subject.changes.size(), subject.changes.size() == 1 ? "" : "s",
                        EscapeForTerminal(TargetOf(what, run.project)));
  if (!what.deploy.empty())
    text += fmt::format("{}everybody who uses {}", text.empty() ? "" : "; ",
                        what.environment.empty() ? "an environment that is not named"
                                                 : EscapeForTerminal(what.environment));
  return text;
}

}  // namespace

Result<Subject> FindSubject(const Run& run, size_t stage) {
  const project::Stage& what = run.stages[stage];
  Subject subject;
  if (what.apply) {
    ASSIGN_OR_RETURN(cli::PromoteAnswer answer, PlanPromotion(run, what));
    subject.plan = std::move(answer.json);
    subject.changes = std::move(answer.changes);
    subject.digest = Text(subject.plan, "digest");
    for (const Json& each : Field(subject.plan, "triggers"))
      subject.alarmed |= Text(each, "severity") == "alarm";
    return subject;
  }
  // The subject is what earlier stages applied, and the file that says what to do with it.
  subject.digest = run.file_digest;
  for (size_t i = 0; i < stage; ++i)
    if (const std::string id = run.progress[i].promotion(); !id.empty()) subject.digest += " " + id;
  return subject;
}

std::string DescribeChanges(const Subject& subject, const std::string& project, bool colour) {
  const Json& plan = subject.plan;
  std::string text;
  for (const Json& each : Field(plan, "triggers")) {
    const bool alarm = Text(each, "severity") == "alarm";
    text += Coloured(colour, alarm ? "1;31" : "33", alarm ? cli::AlarmLabel(each) : "look at") +
            ": " + EscapeForTerminal(Text(each, "path")) + ": " +
            EscapeForTerminal(Text(each, "reason")) + "\n";
    for (const Json& line : Field(each, "effective"))
      if (line.is_string()) text += "    " + EscapeForTerminal(line.get<std::string>()) + "\n";
  }
  change::StatOptions options;
  options.root = project;
  options.width = 100;
  options.colour = colour;
  change::StatTable table(options);
  for (const std::string& each : subject.changes)
    if (const auto change = change::DecodeJsonLine(each)) table.Add(*change);
  text += table.Render();
  for (const Json& path : Field(plan, "merged"))
    if (path.is_string())
      text += " merged: " + EscapeForTerminal(path.get<std::string>()) +
              ": reality has changed it too, in other places\n";
  for (const Json& note : Field(plan, "notes"))
    if (note.is_string()) text += " note: " + EscapeForTerminal(note.get<std::string>()) + "\n";
  return text;
}

std::string ChangesFile(const Run& run, size_t stage) {
  return run.stages[stage].name + ".changes";
}

std::string DescribeTarget(const Run& run, size_t stage) {
  const project::Stage& what = run.stages[stage];
  std::string text;
  if (what.apply)
    text = "applies the changes below " + EscapeForTerminal(TargetOf(what, run.project));
  if (!what.deploy.empty())
    text += fmt::format("{}runs `{}` here for {}", text.empty() ? "" : ", then ",
                        EscapeForTerminal(what.deploy),
                        what.environment.empty() ? "an environment that is not named"
                                                 : EscapeForTerminal(what.environment));
  return text;
}

std::string DescribeRollback(const Run& run, size_t stage) {
  const project::Stage& what = run.stages[stage];
  std::string text;
  if (!what.deploy.empty())
    text = what.rollback.empty() ? "none for the deployment: it has no rollback command"
                                 : "`" + EscapeForTerminal(what.rollback) + "`";
  if (what.apply)
    text += fmt::format("{}cloche undo, byte for byte", text.empty() ? "" : "; the files: ");
  return text;
}

std::string DescribeRequest(const Run& run, size_t stage, const Subject& subject,
                            const Journal& journal, bool colour) {
  const project::Stage& what = run.stages[stage];
  std::string text = Coloured(colour, "1", "stage " + what.name) + " " +
                     DescribeTarget(run, stage) + "\n  changes\n";
  std::string changes;
  if (what.apply) changes = DescribeChanges(subject, run.project, colour);
  // A deployment shows the changes that earlier stages applied.
  for (size_t i = 0; !what.apply && i < stage; ++i)
    if (!run.progress[i].promotion().empty())
      changes += journal.ReadLog(ChangesFile(run, i), kMostChangesText);
  text += changes.empty() ? "    none\n" : changes;
  text += "  checks\n" + CheckLines(run, stage);
  text += "  way back\n    " + DescribeRollback(run, stage) + "\n";
  text += "  affects\n    " + Affected(run, stage, subject) + "\n";
  text += "  digest\n    " + EscapeForTerminal(subject.digest) + "\n";
  return text;
}

Json RequestJson(const Run& run, size_t stage, const Subject& subject) {
  const project::Stage& what = run.stages[stage];
  Json checks = Json::array();
  for (size_t i = 0; i <= stage; ++i)
    for (const char* step : {"verify", "check"})
      if (const auto found = run.progress[i].steps.find(step); found != run.progress[i].steps.end())
        for (const Json& each : Field(found->second, "results")) checks.push_back(each);
  return {{"target", DescribeTarget(run, stage)},
          {"changes", subject.changes.size()},
          {"triggers", Field(subject.plan, "triggers").is_array() ? Field(subject.plan, "triggers")
                                                                  : Json::array()},
          {"checks", std::move(checks)},
          {"rollback", DescribeRollback(run, stage)},
          {"affects", Affected(run, stage, subject)},
          {"environment", what.environment}};
}

}  // namespace cloche::pipeline
