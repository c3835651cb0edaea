#pragma once

#include "base/state_layout.h"
#include "spawn/failure.h"

namespace cloche::spawn {

// At the root of an overlay the kernel ignores this mark, but whoever looks at changes finds it:
// nothing of the base shows there. It goes along with every copy of the upper.
OrFailure<void> MarkBlank(int slot, bool user_xattr);

// Adds the directories of an upper that are opaque or were renamed, and with `copied` what
// overlayfs copied up. In system mode only root can read which ones are; nothing else of the upper
// is looked at, and no symlink followed.
// `few`, if there, is what may be looked at in a moment: beyond it is E2BIG.
struct Few {
  uint64_t entries = 1024;
  uint64_t bytes = 16 << 20;
};
OrFailure<void> FindSpecial(int upper, uint32_t slot, bool of_other, bool user_xattr, bool copied,
                            StateLayout& layout, Few* few = nullptr);

}  // namespace cloche::spawn
