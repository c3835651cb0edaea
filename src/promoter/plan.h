#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diff/change.h"
#include "differ/merge.h"
#include "promoter/journal.h"

namespace cloche::promoter {

class ProjectRules;

struct Wish {
  std::vector<std::string> paths;    // only these and what is below; none = all
  std::vector<std::string> exclude;  // not these and what is below
  std::string digest;                // of what was shown; "" = nothing was
  int64_t since_ns = 0;              // what changed in reality since then was not seen
  bool one_owner = false;            // everything belongs to whoever asks
  uint32_t uid = 0, gid = 0;         // who that is
  std::vector<uint32_t> groups;      // his others
  bool root = false;
  std::string project, home;
  bool allow_triggers = false;
  const ProjectRules* rules = nullptr;   // of the project's own file
  std::map<std::string, Identity> ours;  // what earlier promotions of this sandbox put in place
};

// One path, as it shall be.
struct Wanted {
  diff::Change change;
  std::optional<differ::Place> source;  // in the upper; none: it shall not be
  Identity before;                      // what reality had when it was compared
  std::string target;                   // the overlay it belongs to
};

// Something that keeps the whole from being applied.
struct Conflict {
  std::string path;
  std::string reason;
  std::string cure;
};

// A file that makes something run later, or a credential that would leave with it. Each needs a yes
// of its own.
struct Alarm {
  std::string path;
  std::string kind;  // id of a class of triggers, or "credential"
  std::string reason;
  bool alarm = true;                   // false: only shown
  std::vector<std::string> effective;  // the lines that matter
};

struct Plan {
  std::string digest;
  std::vector<Wanted> wanted;  // in ascending order of the path
  std::vector<Conflict> conflicts;
  std::vector<Alarm> alarms;       // those that need a yes first
  std::vector<std::string> notes;  // what is not taken over as it is, and why
};

// What is to be done to make reality what the sandbox shows. Nothing is touched.
Result<Plan> MakePlan(const StateLayout& layout, const Wish& wish);

}  // namespace cloche::promoter
