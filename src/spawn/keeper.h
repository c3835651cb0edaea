#pragma once

#include <string>

#include "spawn/store.h"
#include "sys/cgroup.h"
#include "sys/fd.h"

namespace cloche::spawn {

// A process for everything slow after a sandbox: counting its changes, deleting uppers, mounts and
// cgroups, growing the pool. Spawn's loop never waits for it.
struct KeeperTask {
  enum class Kind : uint32_t { kCount = 1, kSweep = 2, kLetGo = 3 };
  Kind kind{};
  uint32_t user_xattr = 0;
  uint64_t number = 0;    // kCount: the request to answer; fd: the upper
  uint32_t flags = 0;     // kCount: for that answer
  char sandbox[32] = {};  // kCount
  char cgroup[32] = {};   // kSweep: cgroup to remove, "" = none
  // kLetGo: fds: the pidfd of an init that is about to be killed, and its mount namespace.
};

// Forks it. `daemon` is cloched's socket: the keeper answers kCount itself.
sys::Fd StartKeeper(Store& store, sys::CgroupTree& cgroups, int daemon, pid_t& pid);

}  // namespace cloche::spawn
