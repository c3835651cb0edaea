#pragma once

#include "daemon/sandbox.h"

namespace cloche::daemon {

// What clients see of a sandbox.
Json SandboxJson(const Sandbox& sandbox);
Json ServicesJson(const Sandbox& sandbox);

}  // namespace cloche::daemon
