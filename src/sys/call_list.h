#pragma once

#include <stdint.h>

#include <span>

namespace cloche::sys {

// One system call that a program may go on using; with a condition, only if (argument & mask) ==
// value, compared in the low 32 bits.
struct AllowedCall {
  int number;
  int argument = -1;  // -1: any arguments
  uint32_t mask = 0;
  uint32_t value = 0;
};

// Restricts this process to these calls and, with kWhole, those its runtime needs (non-executable
// memory, locks, the clock, random bytes, exit). All others fail with EPERM; calls of another
// architecture kill it. For good, and inherited. Sets no_new_privs. 0 or -errno.
enum class RunTime : uint8_t { kNone, kWhole };
int AllowOnly(std::span<const AllowedCall> calls, RunTime run_time = RunTime::kWhole);

}  // namespace cloche::sys
