#pragma once

#include "daemon/sandbox.h"

namespace cloche::daemon {

// The view of a sandbox that clients get.
Json SandboxJson(const Sandbox& sandbox);
Json ServicesJson(const Sandbox& sandbox);

}  // namespace cloche::daemon
