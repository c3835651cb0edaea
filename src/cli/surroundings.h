#pragma once

#include "base/result.h"
#include "cli/request.h"

namespace cloche::cli {

// This process as the daemon needs to know it: cwd, home, project, environment.
Result<Surroundings> ReadSurroundings();

// The project's cloche.toml, for whoever makes a sandbox: what it says now holds for as long as
// that lives. With `check` it must make sense; a sandbox that is gone in a moment need not wait for
// that, and whoever promotes from it reads it again.
Status ReadProjectFile(Surroundings& around, bool check);

}  // namespace cloche::cli
