#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/print.h"

namespace cloche::cli {

// Takes a promotion back, at the paths of `force` whatever is there now, and returns what
// cloche-promote says. With `moved`, which reality changed since, nothing was done; `not_shown` is
// why running sandboxes may not show it yet.
Result<Json> TakeBack(const std::string& home, const std::string& id,
                      const std::vector<std::string>& force);

}  // namespace cloche::cli
