#pragma once

#include "base/result.h"
#include "cli/request.h"

namespace cloche::cli {

// This process as the daemon needs to know it: cwd, home, project, environment.
Result<Surroundings> ReadSurroundings();

}  // namespace cloche::cli
