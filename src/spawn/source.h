#pragma once

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/fd.h"

namespace cloche::spawn {

// The file or directory a mount shows, as an O_PATH descriptor. Whatever the caller could have
// named is opened with his rights, not ours, so that no sandbox shows him what he cannot reach.
// Not valid: optional and not there.
struct Source {
  sys::Fd fd;
  bool directory = false;

  bool valid() const { return fd.valid(); }
  int get() const { return fd.get(); }
};
Outcome<Source> OpenSource(const SandboxSpec& spec, const MountOp& op);

}  // namespace cloche::spawn
