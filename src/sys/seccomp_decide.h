#pragma once

#include "sys/seccomp_table.h"

namespace cloche::sys {

// The table's verdict on one call: for the daemon (what was denied, and how bad that is) and as the
// reference for the compiled filter.

// `real_paths`: for a sandbox whose writes to some path go to the host. It refuses more, and
// nothing less; for a denied call it gives the reason for either kind.
Verdict Decide(SyscallAbi abi, int number, const uint64_t (&arguments)[6], bool real_paths = false);

// For the native architecture; if nullptr, callers print "syscall_N".
const char* SyscallName(int number);
DenialClass ClassOf(int number, const uint64_t (&arguments)[6]);

}  // namespace cloche::sys
