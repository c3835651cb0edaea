#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "change/model/lines.h"

namespace cloche::change {

// The old text with the chosen blocks of a diff applied: all of them give the new text, none the
// old one. The texts of the diff must still exist. Fails unless there is one choice per block.
Result<std::string> ApplyChosen(const LineDiff& diff, const std::vector<bool>& chosen);

}  // namespace cloche::change
