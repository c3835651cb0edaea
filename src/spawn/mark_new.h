#pragma once

#include "spawn/failure.h"

namespace cloche::spawn {

// Rootless overlayfs does not record which directories a sandbox made: at the next mount, those
// absent from the base merge with whatever has appeared there. Marks them opaque, which changes
// nothing while the base has nothing there. `upper` and `base` are the roots of one overlay's
// layers.
OrFailure<void> MarkNewDirectories(int upper, int base);

}  // namespace cloche::spawn
