#pragma once

#include <stdint.h>

#include <span>

namespace cloche::sys {

// The system call policy of every sandbox as data. seccomp.cc compiles it to BPF;
// seccomp_decide.cc reads it directly, for the daemon and as the compiler's reference.

enum class SyscallAbi : uint8_t { kX86_64, kAarch64 };

enum class DenialClass : uint8_t {
  kNone,       // not denied
  kQuiet,      // tools do it every day: just an errno
  kReported,   // tools may do it, but a person wants to know: notified
  kViolation,  // nobody does it by accident: notified, and may end the sandbox
  kSupplied,   // not denied: the daemon counts, and supplies the descriptor
};

struct Verdict {
  DenialClass denial = DenialClass::kNone;
  int error = 0;  // returned to the caller if denied

  constexpr bool allowed() const { return denial == DenialClass::kNone; }
  constexpr bool notified() const {
    return denial == DenialClass::kReported || denial == DenialClass::kViolation || supplied();
  }
  constexpr bool supplied() const { return denial == DenialClass::kSupplied; }
  constexpr bool operator==(const Verdict&) const = default;
};

// All conditions look at the low 32 bits of one argument, because the kernel truncates each of
// these arguments to int: garbage in the high half would defeat a 64-bit comparison.
struct Condition {
  enum class Compare : uint8_t { kAlways, kMaskedEqual, kAtMost };
  Compare compare = Compare::kAlways;
  uint8_t argument = 0;
  uint32_t mask = 0;
  uint32_t value = 0;
};

struct ArgumentRule {
  Condition conditions[3];  // all must hold
  Verdict verdict;
};

struct CallRule {
  Verdict otherwise;                      // when no rule matches
  std::span<const ArgumentRule> rules{};  // the first that matches decides
};

struct SyscallEntry {
  const char* name;
  int x86_64;  // -1: does not exist there
  int aarch64;
  const CallRule* rule = nullptr;  // nullptr: allowed with any arguments
  // The rule if a path of the host is real, not a copy; nullptr: the same.
  const CallRule* where_real = nullptr;

  constexpr const CallRule* RuleFor(bool real_paths) const {
    return real_paths && where_real != nullptr ? where_real : rule;
  }
  constexpr int number(SyscallAbi abi) const {
    return abi == SyscallAbi::kX86_64 ? x86_64 : aarch64;
  }
};

// Every call with a decision; all others, including future ones, do not exist (ENOSYS, quiet).
std::span<const SyscallEntry> SyscallTable();

#if defined(__x86_64__)
inline constexpr SyscallAbi kNativeAbi = SyscallAbi::kX86_64;
#elif defined(__aarch64__)
inline constexpr SyscallAbi kNativeAbi = SyscallAbi::kAarch64;
#else
#error "no system call table for this architecture"
#endif

}  // namespace cloche::sys
