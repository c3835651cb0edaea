#pragma once

#include <functional>
#include <string>
#include <vector>

#include "change/apply/apply.h"

namespace cloche::apply {

struct PromotionResult {
  Promotion promotion;              // no id: nothing to do, or a dry run
  std::vector<Conflict> conflicts;  // if any, nothing was applied
  std::vector<Alarm> alarms;        // if not allowed, nothing was applied; else to be shown
  std::vector<std::string> notes;
  std::vector<std::string> takes;      // as in Plan; if any, look after other sandboxes first
  std::vector<std::string> unmatched;  // paths and patterns of the wish that match nothing
  std::map<std::string, Texts> texts;
  std::vector<std::string> merged;                      // the changes that merge both sides
  std::map<std::string, size_t, std::less<>> left_out;  // as in Plan
  std::vector<std::string> changes;  // its changes: lines of docs/formats/changes.md
};

struct Recovered {
  std::string id;
  std::string what;  // "reverted", "undone", "left over"; "": none of these yet
  std::vector<std::string> problems;
  std::string cure;
};

// Called for each step of a long undo or recovery.
extern std::function<void(size_t done, size_t of)> on_progress;

// Reverts what a crash left unfinished. Call before anything else.
std::vector<Recovered> Recover(Store& store, bool root);

// Applies everything or nothing.
Result<PromotionResult> Promote(Store& store, const StateLayout& layout, Wish wish,
                                BirthFiles& base, const std::string& sandbox, bool dry_run);

// Undoes a promotion, byte for byte. `moved` gets the paths that reality has changed since; if
// there are any besides those in `force`, nothing is done. The store keeps what reality had at the
// `force` paths. `takes` gets the directories that the undo would take away; if there are any,
// nothing is done either, because other states may show their content.
Result<Promotion> Undo(Store& store, const std::string& id, bool root,
                       const std::vector<std::string>& force, std::vector<std::string>& moved,
                       std::vector<std::string>* takes = nullptr);

Result<std::vector<Promotion>> ListPromotions(const Store& store);

}  // namespace cloche::apply
