#pragma once

#include <linux/filter.h>
#include <stdint.h>

#include <vector>

#include "sys/seccomp_table.h"

namespace cloche::sys {

struct SeccompProgram {
  std::vector<sock_filter> code;
};

// The table as BPF: a wrong architecture or x32 number kills the process; then a binary search over
// the call number; then the rules on arguments. Same input, same program. Compile once at start.
SeccompProgram CompileFilter(SyscallAbi abi, bool real_paths = false);
inline SeccompProgram CompileSandboxFilter(bool real_paths = false) {
  return CompileFilter(kNativeAbi, real_paths);
}

// A verdict as BPF returns it. Used by the compiler and its tests.
uint32_t FilterAction(const Verdict& verdict);

// Puts the calling thread and everything it starts under the filter, for good. Needs no_new_privs
// or CAP_SYS_ADMIN in its user namespace. Returns the listener (close-on-exec) or -errno.
// Allocation-free.
int InstallSeccomp(const sock_fprog& program);

}  // namespace cloche::sys
