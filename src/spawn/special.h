#pragma once

#include "base/state_layout.h"
#include "spawn/failure.h"

namespace cloche::spawn {

// At the root of an overlay the kernel ignores this mark, but our own tools find it: nothing of the
// base shows there. Every copy of the upper carries it along.
OrFailure<void> MarkBlank(int slot, bool user_xattr);

// Adds the directories of an upper that are opaque or were renamed and, with `copied`, what
// overlayfs copied up. In system mode only root can read which ones are. Examines nothing else of
// the upper, and follows no symlink. `few`, if given, limits what may be examined quickly: beyond
// it, E2BIG.
struct Few {
  uint64_t entries = 1024;
  uint64_t bytes = 16 << 20;
};
OrFailure<void> FindSpecial(int upper, uint32_t slot, bool of_other, bool user_xattr, bool copied,
                            StateLayout& layout, Few* few = nullptr);

}  // namespace cloche::spawn
