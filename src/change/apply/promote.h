#pragma once

#include <functional>
#include <string>
#include <vector>

#include "change/apply/apply.h"

namespace cloche::apply {

struct PromotionResult {
  Promotion promotion;              // without an id: nothing was to be done, or only looked
  std::vector<Conflict> conflicts;  // any: nothing was applied
  std::vector<Alarm> alarms;        // that were not allowed: nothing was applied; else to be shown
  std::vector<std::string> notes;
  std::vector<std::string> takes;      // of Plan; any: others have to be looked after first
  std::vector<std::string> unmatched;  // of the wish: paths and patterns that lead to nothing
  std::map<std::string, Texts> texts;
  std::vector<std::string> merged;  // of the changes, those that are of both sides
  std::map<std::string, size_t, std::less<>> left_out;  // of Plan
  std::vector<std::string> changes;  // what it is about: lines of docs/formats/changes.md
};

struct Recovered {
  std::string id;
  std::string what;  // "reverted", "undone", "left over"; "": it is neither yet
  std::vector<std::string> problems;
  std::string cure;
};

// How far a long undo, or a recovery, has come: called for each step.
extern std::function<void(size_t done, size_t of)> on_progress;

// What a crash left in the middle is taken back, before anything else is done.
std::vector<Recovered> Recover(Store& store, bool root);

// All of it, or nothing.
Result<PromotionResult> Promote(Store& store, const StateLayout& layout, Wish wish,
                                BirthFiles& base, const std::string& sandbox, bool dry_run);

// Takes a promotion back, byte for byte. `moved` gets the paths that reality has changed since; if
// there are any besides those of `force`, nothing is done. What was there at those stays in the
// store. `takes` gets the directories of reality that it would take away; if there are any, nothing
// is done either: other states may show what is in them.
Result<Promotion> Undo(Store& store, const std::string& id, bool root,
                       const std::vector<std::string>& force, std::vector<std::string>& moved,
                       std::vector<std::string>* takes = nullptr);

Result<std::vector<Promotion>> ListPromotions(const Store& store);

}  // namespace cloche::apply
