#pragma once

#include "policy/request.h"

namespace cloche::daemon {

// Decoys are drawn when a sandbox is made. Whatever was asked for: nobody else chooses them.
void DrawDecoys(CanaryRequest& canaries);

}  // namespace cloche::daemon
