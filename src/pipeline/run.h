#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "change/project/project_file.h"

namespace cloche::pipeline {

using Json = nlohmann::ordered_json;

inline constexpr int kJournalVersion = 1;

// How far one stage is: the latest line of each of its steps.
struct StageProgress {
  std::map<std::string, Json> steps;  // verify, approval, apply, check, deploy, health, rollback

  std::string StateOf(const std::string& step) const;  // "" = not begun
  bool Done(const std::string& step) const { return StateOf(step) == "done"; }
  std::string promotion() const;  // what it applied; "" = nothing
  // Something outside may not be as it was before.
  bool ChangedReality() const;
  // The digest that was approved; "" = none.
  std::string approved_subject() const;
  bool triggers_approved() const;
};

// One run of the stages, as its journal tells it.
struct Run {
  int number = 0;
  std::string sandbox, project, snapshot, created;
  std::string file_text, file_digest;  // the cloche.toml it goes by
  std::vector<project::Stage> stages;
  std::vector<StageProgress> progress;  // of each
  bool cancel_asked = false;
  std::string rollback_from;  // a stage: what it and the later ones did is being taken back
  std::string why;            // of that, or of the end
  std::string ended;          // "done", "failed", "cancelled", "rolled_back"; "" = not yet

  std::optional<size_t> IndexOf(const std::string& stage) const;
  // "done", "failed", "cancelled", "rolled_back", "waiting", "unfinished"
  std::string State() const;
  // "pending", "running", "waiting", "refused", "watched", "done", "failed", "rolled_back",
  // "rollback_failed"
  std::string StageState(size_t index) const;
};

// The latest run; none when there was none.
Result<std::optional<Run>> Replay(const std::vector<Json>& lines);

// The steps that the journal of a complete stage holds.
std::vector<std::string> StepsOf(const project::Stage& stage);

}  // namespace cloche::pipeline
