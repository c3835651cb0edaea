#include "pipeline/reality.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/defaults.h"
#include "cli/take_back.h"

namespace cloche::pipeline {
namespace {

using cli::AskPromoter;
using cli::Call;
using cli::Field;
using cli::Text;

Json PromotionBody(const Run& run, const project::Stage& stage) {
  return {{"snapshot", run.snapshot},
          {"paths", Json::array({TargetOf(stage, run.project)})},
          {"exclude", Json::array({run.project + "/" + project::kFileName})}};
}

std::string NoteOf(int run) { return fmt::format("cloche pipeline, run {}", run); }

}  // namespace

std::string TargetOf(const project::Stage& stage, const std::string& project) {
  const std::string& directory = stage.apply.value_or("");
  if (directory.empty()) return project;
  return directory.starts_with('/') ? directory : project + "/" + directory;
}

Result<std::string> SaveState(const std::string& sandbox, int run) {
  ASSIGN_OR_RETURN(const std::string target, cli::SandboxTarget(sandbox, "/snapshots"));
  // One that was saved just before a crash.
  ASSIGN_OR_RETURN(const Json all, Call("GET", target));
  for (const Json& each : all)
    if (Text(each, "note") == NoteOf(run)) return Text(each, "id");
  ASSIGN_OR_RETURN(const Json saved, Call("POST", target, {{"note", NoteOf(run)}}));
  return Text(saved, "id");
}

void DropState(const std::string& snapshot) {
  if (const auto target = cli::SnapshotTarget(snapshot)) (void)Call("DELETE", *target);
}

Result<std::string> ForkState(const std::string& snapshot, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string target, cli::SnapshotTarget(snapshot, "/fork"));
  ASSIGN_OR_RETURN(const Json made,
                   Call("POST", target, {{"count", 1}, {"names", Json::array({name})}}));
  const std::string id = made.is_array() && made.size() == 1 ? Text(made[0], "id") : "";
  if (id.empty()) return Fail(Code::kInternal, "fork: cloched named no sandbox");
  return id;
}

Result<std::string> NewSandbox(const std::string& name, const cli::Surroundings& around) {
  cli::SandboxFlags flags;
  flags.name = name;
  CLOCHE_TRY(cli::TakeDefaults(flags, around, {.keep = true, .json = true, .quiet = true}));
  ASSIGN_OR_RETURN(const cli::Body body, cli::SandboxRequest(flags, around));
  ASSIGN_OR_RETURN(const Json made, Call("POST", "/v1/sandboxes", body));
  return Text(made, "id");
}

void RemoveSandbox(const std::string& name) {
  if (const auto target = cli::SandboxTarget(name)) (void)Call("DELETE", *target);
}

std::string CopyName(const Run& run, const char* kind, size_t stage) {
  // An id is sb_ and letters.
  return fmt::format("{}-{}-{}-{}", kind,
                     run.sandbox.substr(std::min<size_t>(3, run.sandbox.size())), run.number,
                     stage + 1);
}

void RemoveCopies(const Run& run) {
  for (size_t i = 0; i < run.stages.size(); ++i)
    for (const char* kind : {"verify", "check"})
      if (!run.progress[i].StateOf(kind).empty()) RemoveSandbox(CopyName(run, kind, i));
}

Result<cli::PromoteAnswer> PlanPromotion(const Run& run, const project::Stage& stage) {
  ASSIGN_OR_RETURN(const std::string target, cli::SandboxTarget(run.sandbox, "/promote"));
  Json body = PromotionBody(run, stage);
  body["dry_run"] = true;
  return cli::AskPromote(target, body);
}

Result<Json> Promote(const Run& run, const project::Stage& stage, const std::string& digest,
                     bool allow_triggers) {
  ASSIGN_OR_RETURN(const std::string target, cli::SandboxTarget(run.sandbox, "/promote"));
  Json body = PromotionBody(run, stage);
  body["dry_run"] = false;
  body["digest"] = digest;
  body["allow_triggers"] = allow_triggers;
  ASSIGN_OR_RETURN(cli::PromoteAnswer done, cli::AskPromote(target, body));
  return std::move(done.json);
}

Result<std::vector<PromotionEntry>> Promotions(const std::string& home) {
  ASSIGN_OR_RETURN(const Json answer, AskPromoter({"list", home}));
  std::vector<PromotionEntry> all;
  for (const Json& each : Field(answer, "promotions"))
    all.push_back(
        {Text(each, "id"), Text(each, "sandbox"), Text(each, "digest"), Text(each, "state")});
  return all;
}

Status UndoPromotion(const std::string& home, const std::string& id) {
  ASSIGN_OR_RETURN(const auto all, Promotions(home));
  const auto found = std::ranges::find(all, id, &PromotionEntry::id);
  if (found != all.end() && (found->state == "undone" || found->state == "reverted"))
    return {};  // it was taken back already
  ASSIGN_OR_RETURN(const Json answer, cli::TakeBack(home, id, {}));
  const Json& moved = Field(answer, "moved");
  if (moved.empty()) return {};
  return Fail(Code::kConflict,
              fmt::format("undo {}: reality has moved on at {} of its paths, first {}", id,
                          moved.size(), EscapeForTerminal(moved[0].get<std::string>())),
              "put them back as they were, then: cloche undo " + id);
}

}  // namespace cloche::pipeline
