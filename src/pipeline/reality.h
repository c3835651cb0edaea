#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/promote_answer.h"
#include "cli/request.h"
#include "pipeline/run.h"

namespace cloche::pipeline {

// Requests of the stages to the daemon and to cloche-promote.

struct Subject {
  Json plan;           // of a promotion: what would be done; null: nothing is applied
  std::string digest;  // what an approval is about
  bool alarmed = false;
  std::vector<std::string> changes;  // lines of docs/formats/changes.md
};

// The whole path of the directory a stage applies.
std::string TargetOf(const project::Stage& stage, const std::string& project);

Result<std::string> SaveState(const std::string& sandbox, int run);  // the snapshot's id
void DropState(const std::string& snapshot);
Result<std::string> ForkState(const std::string& snapshot, const std::string& name);
Result<std::string> NewSandbox(const std::string& name, const cli::Surroundings& around);
void RemoveSandbox(const std::string& name);  // fine if there is none
// Of the copy that a stage is verified or checked in: unique, and known after a crash.
std::string CopyName(const Run& run, const char* kind, size_t stage);
void RemoveCopies(const Run& run);  // those that a run which was killed has left

// Leaves out the sandbox's own cloche.toml, which is not part of what it may change.
Result<cli::PromoteAnswer> PlanPromotion(const Run& run, const project::Stage& stage);
Result<Json> Promote(const Run& run, const project::Stage& stage, const std::string& digest,
                     bool allow_triggers);

struct PromotionEntry {
  std::string id, sandbox, digest, state;
};
Result<std::vector<PromotionEntry>> Promotions(const std::string& home);  // newest last
// One that was applied already is fine; the error says what keeps it from being undone.
Status UndoPromotion(const std::string& home, const std::string& id);

}  // namespace cloche::pipeline
