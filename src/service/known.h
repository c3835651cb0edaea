#pragma once

#include <string>

#include "base/result.h"
#include "service/run.h"

namespace cloche::service {

// Special cases of some programs when they are started again: a Redis overwrites its command line,
// a PostgreSQL may want a private key, which never enters a sandbox. `given`: the user said what to
// run, and that is what is run.
Status MakeRunnable(Program& program, const std::string& cwd, bool given);

}  // namespace cloche::service
