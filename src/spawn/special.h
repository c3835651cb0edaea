#pragma once

#include "base/state_layout.h"
#include "spawn/failure.h"

namespace cloche::spawn {

// Adds the directories of an upper that are opaque or were renamed, and with `copied` what
// overlayfs copied up. In system mode only root can read which ones are; nothing else of the upper
// is looked at, and no symlink followed.
Outcome<void> FindSpecial(int upper, uint32_t slot, bool of_other, bool user_xattr, bool copied,
                          StateLayout& layout);

}  // namespace cloche::spawn
