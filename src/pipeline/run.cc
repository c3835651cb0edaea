#include "pipeline/run.h"

#include <algorithm>

namespace cloche::pipeline {
namespace {

std::string Text(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<Run> Begin(const Json& line) {
  if (!line["pipeline"].is_number_integer() || line["pipeline"] != kJournalVersion)
    return Fail(Code::kUnavailable, "read journal of the pipeline: another version wrote it",
                "use the version of Cloche that began it");
  Run run;
  run.number = line.value("run", 0);
  run.sandbox = Text(line, "sandbox");
  run.project = Text(line, "project");
  run.created = Text(line, "at");
  run.file_text = Text(line, "text");
  run.file_digest = Text(line, "digest");
  ASSIGN_OR_RETURN(project::ProjectFile file, project::ReadProjectFile(run.file_text));
  run.stages = std::move(file.stages);
  run.progress.resize(run.stages.size());
  return run;
}

void TakeStep(const Json& line, Run& run) {
  const auto index = run.IndexOf(Text(line, "stage"));
  const std::string step = Text(line, "step");
  if (!index || step.empty()) return;
  Json& latest = run.progress[*index].steps[step];
  // A later line of a step adds to what it was begun with.
  if (Text(line, "state") == "begun") latest = Json::object();
  latest.update(line);
}

}  // namespace

std::string StageProgress::StateOf(const std::string& step) const {
  const auto found = steps.find(step);
  return found == steps.end() ? "" : Text(found->second, "state");
}

std::string StageProgress::promotion() const {
  const auto found = steps.find("apply");
  return found == steps.end() ? "" : Text(found->second, "promotion");
}

bool StageProgress::ChangedReality() const {
  return !promotion().empty() || StateOf("apply") == "begun" || !StateOf("deploy").empty();
}

std::string StageProgress::approved_subject() const {
  const auto found = steps.find("approval");
  return found == steps.end() || Text(found->second, "state") != "granted"
             ? ""
             : Text(found->second, "subject");
}

bool StageProgress::triggers_approved() const {
  const auto found = steps.find("approval");
  return found != steps.end() && found->second.value("triggers", false);
}

std::optional<size_t> Run::IndexOf(const std::string& stage) const {
  const auto found = std::ranges::find(stages, stage, &project::Stage::name);
  if (found == stages.end()) return std::nullopt;
  return static_cast<size_t>(found - stages.begin());
}

std::vector<std::string> StepsOf(const project::Stage& stage) {
  std::vector<std::string> steps;
  if (!stage.verify.empty()) steps.push_back("verify");
  if (stage.ChangesReality()) steps.push_back("approval");
  if (stage.apply) steps.push_back("apply");
  if (!stage.check.empty()) steps.push_back("check");
  if (!stage.deploy.empty()) steps.push_back("deploy");
  if (!stage.health.empty()) steps.push_back("health");
  return steps;
}

std::string Run::StageState(size_t index) const {
  const StageProgress& at = progress[index];
  const std::string back = at.StateOf("rollback");
  if (back == "done") return "rolled_back";
  if (back == "failed") return "rollback_failed";
  if (at.StateOf("approval") == "waiting") return "waiting";
  if (at.StateOf("approval") == "refused") return "refused";
  bool all = true, any = false;
  for (const std::string& step : StepsOf(stages[index])) {
    const std::string state = at.StateOf(step);
    if (state == "failed" || state == "conflict") return "failed";
    const bool done = state == "done" || (step == "approval" && state == "granted");
    all &= done;
    any |= !state.empty();
  }
  if (all) return "done";
  if (at.StateOf("health") == "begun") return "watched";
  return any ? "running" : "pending";
}

std::string Run::State() const {
  if (!ended.empty()) return ended;
  for (size_t i = 0; i < stages.size(); ++i)
    if (StageState(i) == "waiting") return "waiting";
  return "unfinished";
}

Result<std::optional<Run>> Replay(const std::vector<Json>& lines) {
  std::optional<Run> run;
  for (const Json& line : lines) {
    if (line.contains("pipeline")) {
      ASSIGN_OR_RETURN(run, Begin(line));
      continue;
    }
    if (!run) continue;
    if (line.contains("stage")) TakeStep(line, *run);
    if (line.contains("snapshot")) run->snapshot = Text(line, "snapshot");
    if (line.contains("cancel")) run->cancel_asked = true;
    if (line.contains("rollback_from")) {
      run->rollback_from = Text(line, "rollback_from");
      run->why = Text(line, "why");
      run->ended.clear();
    }
    if (line.contains("ended")) {
      run->ended = Text(line, "ended");
      run->why = Text(line, "why");
      run->rollback_from.clear();
    }
  }
  return run;
}

}  // namespace cloche::pipeline
