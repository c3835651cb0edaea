#pragma once

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::cli {

enum class StartDaemon { kIfNeeded, kNever };

// A connection to the daemon that serves this user: $CLOCHE_SOCKET, else the system's, else the
// user's own.
Result<sys::Fd> ConnectToDaemon(StartDaemon start);

}  // namespace cloche::cli
