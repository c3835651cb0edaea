#pragma once

#include <stdint.h>

namespace cloche::sys {

// Lets one more user read a file that only its owner could read. 0 or -errno.
int LetRead(int file, uint32_t uid);

}  // namespace cloche::sys
