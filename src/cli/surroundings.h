#pragma once

#include "base/result.h"
#include "cli/request.h"

namespace cloche::cli {

// This process as the daemon needs to know it: cwd, home, project, environment.
Result<Surroundings> ReadSurroundings();

// The person's settings, and the project's cloche.toml, for whoever makes a sandbox: what it says
// now holds for as long as that lives. It must make sense, whatever is asked: what it says is
// somebody's wish, and nobody goes on without it.
Status ReadProjectFile(Surroundings& around);

}  // namespace cloche::cli
