#pragma once

#include "base/result.h"
#include "cli/request.h"

namespace cloche::cli {

// This process as the daemon needs to know it: cwd, home, project, environment.
Result<Surroundings> ReadSurroundings();

// Reads the person's settings and the project's cloche.toml, for callers that make a sandbox: the
// file as it is now holds for as long as the sandbox lives. An invalid file is an error whatever is
// asked: it is somebody's wish, and is never skipped.
Status ReadProjectFile(Surroundings& around);

}  // namespace cloche::cli
