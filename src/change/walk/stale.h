#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/state_layout.h"

namespace cloche::walk {

// How far reality has moved on in a project since the sandbox was made.
struct Staleness {
  uint64_t changed = 0;            // paths
  std::vector<std::string> paths;  // the first of them, sorted
  uint64_t both = 0;               // changed in the sandbox, too
  std::vector<std::string> both_paths;
  bool complete = true;  // false: the project was too large to search completely
};

// Uses ctimes, which programs cannot set. A deleted name shows as its directory. Searches only the
// project, without git's own files and caches.
Result<Staleness> FindStaleness(const StateLayout& layout, const std::string& project,
                                const std::string& home, int64_t since_ns);

// All paths that both the sandbox and, since it was made, reality changed.
Result<std::vector<std::string>> FindChangedByBoth(const StateLayout& layout, int64_t since_ns);

}  // namespace cloche::walk
