#pragma once

#include <string>

#include "race/result.h"

namespace cloche::race {

// The comparison for a terminal: one line per lane, best first, then the verdict and the overlap.
// All that came from a sandbox is escaped.
std::string ComparisonTable(const Race& race, const Verdict& verdict, const Overlap& overlap,
                            bool colour);

}  // namespace cloche::race
