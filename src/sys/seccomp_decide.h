#pragma once

#include "sys/seccomp_table.h"

namespace cloche::sys {

// What the table says about one call: for the daemon (what was denied, and how bad is that) and as
// the reference of the compiled filter.

// `real_paths`: for a sandbox whose writes to some path are writes to the host. It refuses more,
// and nothing less: of a call that was denied it says why in either kind.
Verdict Decide(SyscallAbi abi, int number, const uint64_t (&arguments)[6], bool real_paths = false);

// For the architecture this is built for; "syscall_N" is left to the caller when nullptr.
const char* SyscallName(int number);
DenialClass ClassOf(int number, const uint64_t (&arguments)[6]);

}  // namespace cloche::sys
