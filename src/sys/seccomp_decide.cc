#include "sys/seccomp_decide.h"

#include <errno.h>

namespace cloche::sys {
namespace {

constexpr Verdict kNoSuchCall{DenialClass::kQuiet, ENOSYS};

bool Holds(const Condition& condition, const uint64_t (&arguments)[6]) {
  const auto value = static_cast<uint32_t>(arguments[condition.argument]);
  switch (condition.compare) {
    case Condition::Compare::kAlways:
      return true;
    case Condition::Compare::kMaskedEqual:
      return (value & condition.mask) == condition.value;
    case Condition::Compare::kAtMost:
      return value <= condition.value;
  }
  return false;
}

}  // namespace

Verdict Decide(SyscallAbi abi, int number, const uint64_t (&arguments)[6], bool real_paths) {
  if (number < 0) return kNoSuchCall;
  for (const SyscallEntry& entry : SyscallTable()) {
    if (entry.number(abi) != number) continue;
    const CallRule* call = entry.RuleFor(real_paths);
    if (call == nullptr) return {};
    for (const ArgumentRule& rule : call->rules) {
      bool all = true;
      for (const Condition& condition : rule.conditions) all = all && Holds(condition, arguments);
      if (all) return rule.verdict;
    }
    return call->otherwise;
  }
  return kNoSuchCall;
}

const char* SyscallName(int number) {
  if (number < 0) return nullptr;
  for (const SyscallEntry& entry : SyscallTable()) {
    if (entry.number(kNativeAbi) == number) return entry.name;
  }
  return nullptr;
}

DenialClass ClassOf(int number, const uint64_t (&arguments)[6]) {
  return Decide(kNativeAbi, number, arguments, true).denial;
}

}  // namespace cloche::sys
