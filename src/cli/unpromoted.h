#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace cloche::cli {

// How many changes of a sandbox reality does not have. Caches, logs, packages and the rest of the
// system are not counted: `cloche diff` does not show them either. An error when some of it cannot
// be read, because the number is then unknown.
Result<size_t> CountUnpromoted(const std::string& sandbox);

// "3 changes"
std::string DescribeUnpromoted(size_t count);

}  // namespace cloche::cli
