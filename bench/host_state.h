#pragma once

#include <map>
#include <string>

#include "own_daemon.h"

namespace cloche::bench {

// What sandboxes could leave behind, counted.
using HostState = std::map<std::string, long>;

// Waits until the pool is full again and nothing moves any more.
HostState SettledState(const OwnDaemon& daemon);

// KiB, of cloched and of all of cloche-spawn.
long ResidentKib(pid_t pid);
// cloched and cloche-spawn with its keeper, without the sandboxes' own processes.
std::vector<pid_t> Services(const OwnDaemon& daemon);

}  // namespace cloche::bench
