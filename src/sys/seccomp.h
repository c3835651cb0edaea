#pragma once

#include <linux/filter.h>
#include <stdint.h>

#include <vector>

#include "sys/seccomp_table.h"

namespace cloche::sys {

struct SeccompProgram {
  std::vector<sock_filter> code;
};

// The table as BPF: wrong architecture or x32 number kills the process, then a binary search over
// the call number, then the rules on arguments. Same input, same program. Compile once at start.
SeccompProgram CompileFilter(SyscallAbi abi, bool real_paths = false);
inline SeccompProgram CompileSandboxFilter(bool real_paths = false) {
  return CompileFilter(kNativeAbi, real_paths);
}

// The table in one number, as BPF returns it. Used by the compiler and by its tests.
uint32_t FilterAction(const Verdict& verdict);

// Puts the calling thread and everything it starts under the filter, for good. Needs no_new_privs
// or CAP_SYS_ADMIN in its user namespace. Returns the listener (close-on-exec) or -errno.
// Allocation-free.
int InstallSeccomp(const sock_fprog& program);

// One call that waits for its denial. `pid` is in the pid namespace of the receiver; 0 when the
// caller cannot be seen from there.
struct SeccompNotification {
  uint64_t id = 0;
  uint32_t pid = 0;
  int number = 0;
  uint64_t arguments[6] = {};
};

// After poll() said the listener is readable. 0, or -errno; -ENOENT and -EINTR mean "it is gone,
// go on polling".
int ReceiveNotification(int listener, SeccompNotification& notification);

// Answers with the errno of the table. A call with pointers is never let through: what they lead to
// may have changed since. -ENOENT when the caller has died meanwhile.
int DenyNotification(int listener, uint64_t id, int error);

// For a call that has none: the caller makes it himself.
int ContinueNotification(int listener, uint64_t id);

// Puts a copy of `fd` among the caller's descriptors, and answers with its number.
int SupplyDescriptor(int listener, uint64_t id, int fd, bool close_on_exec);

}  // namespace cloche::sys
