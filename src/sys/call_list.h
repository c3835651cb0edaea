#pragma once

#include <stdint.h>

#include <span>

namespace cloche::sys {

// One system call a program of ours goes on with; with a condition, only where
// (argument & mask) == value, looked at in its low 32 bits.
struct AllowedCall {
  int number;
  int argument = -1;  // -1: whatever it is called with
  uint32_t mask = 0;
  uint32_t value = 0;
};

// From here on this process has these calls, with kWhole also those its run time lives on (memory
// that is not executable, locks, the clock, random bytes, its end), and no others: they fail with
// EPERM; another architecture's kill it. For good, and inherited. Sets no_new_privs. 0 or -errno.
enum class RunTime : uint8_t { kNone, kWhole };
int AllowOnly(std::span<const AllowedCall> calls, RunTime run_time = RunTime::kWhole);

}  // namespace cloche::sys
