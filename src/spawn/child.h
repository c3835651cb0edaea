#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/launch_plan.h"
#include "base/spawn_protocol.h"

struct sock_fprog;

namespace cloche::spawn {

// The child's input, laid out by the parent before clone. The child allocates nothing.
struct ChildMount {
  MountKind kind{};
  bool from_parent = false;  // its fd comes with the go message, in order
  bool directory = true;
  bool read_only = false;
  bool optional = false;  // a cover: skipped if there is no directory to cover
  uint64_t size_bytes = 0;
  uint32_t mode = 0;
  const char* target = nullptr;  // for kSys from the parent: below /sys
};

struct ChildPlan {
  const ChildMount* mounts = nullptr;
  size_t mount_count = 0;
  size_t fd_count = 0;              // mounts, then ...
  size_t procs_count = 0;           // ... cgroup.procs files to enter by (v1)
  bool become_mapped_root = false;  // system mode: leave the host's uid 0 first
  bool set_groups = false;
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  size_t group_count = 0;
  uint64_t capabilities = 0;
  bool tty_group = false;               // gid 5 is mapped
  const unsigned long* cpus = nullptr;  // to run on; entering a cpuset resets it
  size_t cpu_bytes = 0;
  const char* hostname = nullptr;
  const sock_fprog* filter = nullptr;
  bool apparmor = false;  // the profile is loaded: enter it
  int landlock_abi = 0;
  int control = -1;
};

// Child to parent, once: the sandbox is sealed (with the seccomp listener), or why not.
struct ChildReport {
  SpawnStep step{};
  int32_t error = 0;
  char operation[40] = {};
  char detail[200] = {};
};

// Saves where this process has its arguments: the child overwrites what /proc would show of them
// inside.
void RememberCommandLine(int argc, char** argv);

[[noreturn]] void RunChild(const ChildPlan& plan);

// init.cc: pid 1 of the sandbox, after it is sealed.
[[noreturn]] void RunInit(int control, int pts);

}  // namespace cloche::spawn
