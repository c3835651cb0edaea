#pragma once

#include "base/result.h"
#include "cli/owned_fd.h"

namespace cloche::cli {

enum class StartDaemon { kIfNeeded, kNever };

// A connection to the daemon that serves this user: $CLOCHE_SOCKET, else the system's, else his
// own.
Result<OwnedFd> ConnectToDaemon(StartDaemon start);

}  // namespace cloche::cli
