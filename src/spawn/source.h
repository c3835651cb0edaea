#pragma once

#include <cstdint>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/fd.h"

namespace cloche::spawn {

// Identifies a source file or directory when it was opened.
struct SourceIdentity {
  uint64_t device = 0, inode = 0;  // 0, 0: not there
  bool lasting = false;            // a filesystem of the host at its own place, or no source at all
  bool operator==(const SourceIdentity&) const = default;
};

// The file or directory a mount shows, as an O_PATH descriptor. Paths that callers could have named
// are opened with their rights, not ours, so that no sandbox shows them anything they cannot reach.
// Invalid: optional and not there.
struct Source {
  sys::Fd fd;
  bool directory = false;
  SourceIdentity identity;

  bool valid() const { return fd.valid(); }
  int get() const { return fd.get(); }
};
OrFailure<Source> OpenSource(const SandboxSpec& spec, const MountOp& op);

// Whether the caller would be given the very same sources now: those opened earlier may have been
// replaced, or closed to the caller, since. `earlier` is by mount.
bool SourcesAreTheSame(const SandboxSpec& spec, const std::vector<SourceIdentity>& earlier);

}  // namespace cloche::spawn
