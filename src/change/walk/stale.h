#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/state_layout.h"

namespace cloche::walk {

// How far reality has moved on in a project since a sandbox was made.
struct Staleness {
  uint64_t changed = 0;            // paths
  std::vector<std::string> paths;  // the first of them, sorted
  uint64_t both = 0;               // changed in the sandbox, too
  std::vector<std::string> both_paths;
  bool complete = true;  // false: the project is so large that not all of it was looked at
};

// By the times of change that the kernel keeps: nothing can set them back. A name that is gone
// shows as its directory. Looks at the project alone, without what git and caches keep for
// themselves.
Result<Staleness> FindStaleness(const StateLayout& layout, const std::string& project,
                                const std::string& home, int64_t since_ns);

// Everything that the sandbox changed and reality has changed since then, too.
Result<std::vector<std::string>> FindChangedByBoth(const StateLayout& layout, int64_t since_ns);

}  // namespace cloche::walk
