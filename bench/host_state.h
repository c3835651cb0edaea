#pragma once

#include <map>
#include <string>

#include "own_daemon.h"

namespace cloche::bench {

// Counts of things that sandboxes could leave behind.
using HostState = std::map<std::string, long>;

// Waits until nothing moves any more and, for a while, until it is as expected; with `smoke` not.
HostState SettledState(const OwnDaemon& daemon, bool smoke, const HostState& expected = {});

// Only cloche-spawn's mount namespace has the pool; "" when it cannot be told.
std::string PoolSeenFromHere(const OwnDaemon& daemon);

long ResidentKib(pid_t pid);
// cloched and cloche-spawn with its keeper, without the sandboxes' own processes.
std::vector<pid_t> Services(const OwnDaemon& daemon);

}  // namespace cloche::bench
