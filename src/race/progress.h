#pragma once

#include <string>
#include <vector>

#include "race/result.h"

namespace cloche::race {

// The current activity of a lane.
struct LaneProgress {
  std::string doing;     // "check 1 of 2: make test"
  double elapsed_s = 0;  // since its first command began
};

// One line per lane, none wider than `columns`; where the terminal has too few rows, running lanes
// go first and the last line counts the rest. `progress` has an entry for each lane.
std::vector<std::string> ProgressLines(const std::vector<LaneResult>& lanes,
                                       const std::vector<LaneProgress>& progress, size_t columns,
                                       size_t rows, bool colour);

}  // namespace cloche::race
