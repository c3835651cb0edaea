#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::race {

struct Score {
  double value = 0;                      // the one that decides
  std::map<std::string, double> others;  // all of them, when there were several
};

// Reads what a score command printed: a number, or a JSON object of numbers, alone or as the last
// line. Of several numbers `key` decides; without a key the one named "score", or the only one.
Result<Score> ReadScore(std::string_view printed, const std::string& key);

}  // namespace cloche::race
