#pragma once

#include "daemon/client.h"
#include "daemon/machine.h"
#include "daemon/sandbox.h"
#include "daemon/spawn.h"

namespace cloche::daemon {

// Asks cloche-spawn to do something inside a running sandbox. Rootless, spawn enters through its
// init.
Task<Result<SpawnAnswer>> AskInside(Spawn& spawn, Mode mode, std::shared_ptr<Sandbox> sandbox,
                                    SpawnRequest request, Client client, int memory = -1);

}  // namespace cloche::daemon
