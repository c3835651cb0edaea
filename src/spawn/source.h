#pragma once

#include <cstdint>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/fd.h"

namespace cloche::spawn {

// Which file or directory a source was, when it was opened.
struct SourceIdentity {
  uint64_t device = 0, inode = 0;  // 0, 0: not there
  bool lasting = false;  // a file system of the host at its own place, or no source at all
  bool operator==(const SourceIdentity&) const = default;
};

// The file or directory a mount shows, as an O_PATH descriptor. Whatever the caller could have
// named is opened with his rights, not ours, so that no sandbox shows him what he cannot reach.
// Not valid: optional and not there.
struct Source {
  sys::Fd fd;
  bool directory = false;
  SourceIdentity identity;

  bool valid() const { return fd.valid(); }
  int get() const { return fd.get(); }
};
OrFailure<Source> OpenSource(const SandboxSpec& spec, const MountOp& op);

// Whether the caller would be given the very same sources now: what was opened for him earlier may
// have been replaced, or closed to him, since. `earlier` is by mount.
bool SourcesAreTheSame(const SandboxSpec& spec, const std::vector<SourceIdentity>& earlier);

}  // namespace cloche::spawn
