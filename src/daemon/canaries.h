#pragma once

#include "policy/request.h"

namespace cloche::daemon {

// Draws the decoys when a sandbox is made, overwriting whatever the request says: nobody else
// chooses them.
void DrawDecoys(CanaryRequest& canaries);

}  // namespace cloche::daemon
