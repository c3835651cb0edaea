#pragma once

#include "spawn/failure.h"

namespace cloche::spawn {

// Rootless overlayfs does not note which directories a sandbox made: those that the base has none
// of merge with whatever appears there later, at the next mount. Marks them as showing nothing of
// the base, which changes nothing as long as there is nothing. `upper` and `base` are the roots of
// one overlay's layers.
OrFailure<void> MarkNewDirectories(int upper, int base);

}  // namespace cloche::spawn
