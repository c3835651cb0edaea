#include "pipeline/view.h"

#include <fmt/core.h>

#include "base/text.h"
#include "cli/print.h"

namespace cloche::pipeline {
namespace {

using cli::Field;
using cli::Text;

// Nobody runs it: a step that was begun stands still.
std::string StateName(const Run& run, size_t stage, bool running) {
  std::string state = run.StageState(stage);
  if (running || (state != "running" && state != "watched")) return state;
  return run.ended.empty() ? "interrupted" : "stopped";
}

std::string StepName(const StageProgress& at, const std::string& step) {
  const std::string state = at.StateOf(step);
  return step + (state.empty() ? "" : " " + state);
}

std::string Remark(const Run& run, size_t stage) {
  const StageProgress& at = run.progress[stage];
  for (const char* step : {"rollback", "health", "deploy", "check", "apply", "verify"}) {
    const auto found = at.steps.find(step);
    if (found == at.steps.end()) continue;
    if (const std::string why = Text(found->second, "why"); !why.empty()) return why;
    for (const Json& each : Field(found->second, "results"))
      if (cli::Number(each, "status") != 0)
        return fmt::format("{}: exit status {:.0f}", Text(each, "command"),
                           cli::Number(each, "status"));
  }
  return at.promotion();
}

}  // namespace

std::string RunTable(const Run& run, bool running, bool colour) {
  Table table({"STAGE", "STATE", "APPROVAL", "STEPS", "REMARK"});
  for (size_t i = 0; i < run.stages.size(); ++i) {
    std::string steps;
    for (const std::string& step : StepsOf(run.stages[i]))
      steps += (steps.empty() ? "" : ", ") + StepName(run.progress[i], step);
    table.AddRow({run.stages[i].name, StateName(run, i, running),
                  project::ApprovalName(run.stages[i].approval), steps, Remark(run, i)});
  }
  return table.Render(colour);
}

Json RunJson(const Run& run, bool running) {
  Json stages = Json::array();
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const project::Stage& what = run.stages[i];
    Json steps = Json::array();
    for (const auto& [name, line] : run.progress[i].steps) steps.push_back(line);
    stages.push_back({{"name", what.name},
                      {"state", StateName(run, i, running)},
                      {"approval", project::ApprovalName(what.approval)},
                      {"environment", what.environment},
                      {"promotion", run.progress[i].promotion()},
                      {"steps", std::move(steps)}});
  }
  return {{"sandbox", run.sandbox},
          {"run", run.number},
          {"state", run.number == 0 ? "pending"
                    : running       ? "running"
                                    : run.State()},
          {"why", run.why},
          {"created", run.created},
          {"project", run.project},
          {"project_file", run.file_digest},
          {"snapshot", run.snapshot},
          {"stages", std::move(stages)}};
}

std::string NextCommand(const Run& run, bool running, const std::string& ref) {
  if (running || !run.ended.empty()) return "";
  for (size_t i = 0; i < run.stages.size(); ++i)
    if (run.StageState(i) == "waiting") {
      bool alarmed = false;
      const Json& request = Field(run.progress[i].steps.at("approval"), "request");
      for (const Json& each : Field(request, "triggers"))
        alarmed |= Text(each, "severity") == "alarm";
      return fmt::format("cloche pipeline {0} approve {1}{2} && cloche pipeline {0} run", ref,
                         run.stages[i].name, alarmed ? " --allow-triggers" : "");
    }
  return fmt::format("cloche pipeline {} run", ref);
}

}  // namespace cloche::pipeline
