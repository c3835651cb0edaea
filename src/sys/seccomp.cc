#include "sys/seccomp.h"

#include <endian.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "sys/kernel_abi.h"

namespace cloche::sys {
namespace {

static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "argument offsets below are those of the low word");

using Code = std::vector<sock_filter>;

constexpr uint32_t kX32Bit = 0x40000000;
constexpr uint32_t kNoCall = ~0u;  // a tracer's way to skip a call; runs nothing
constexpr Verdict kUnknownCall{DenialClass::kQuiet, ENOSYS};

// Neighbouring call numbers with the same treatment, up to the next range's first.
struct Range {
  uint32_t first;
  Verdict verdict;  // when there are no rules
  std::span<const ArgumentRule> rules;
};

sock_filter Load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
sock_filter Return(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

uint8_t JumpLength(size_t distance) {
  if (distance > UINT8_MAX) abort();  // a rule too long for its jump must never load
  return static_cast<uint8_t>(distance);
}

void Append(Code& code, const Code& tail) { code.insert(code.end(), tail.begin(), tail.end()); }

Code CompileRule(const ArgumentRule& rule) {
  Code code;
  std::vector<size_t> comparisons;
  for (const Condition& condition : rule.conditions) {
    if (condition.compare == Condition::Compare::kAlways) continue;
    code.push_back(Load(offsetof(seccomp_data, args) + sizeof(uint64_t) * condition.argument));
    if (condition.compare == Condition::Compare::kAtMost) {
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, condition.value, 0, 0));
    } else {
      if (condition.mask != ~0u) {
        code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, condition.mask));
      }
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, condition.value, 0, 0));
    }
    comparisons.push_back(code.size() - 1);
  }
  code.push_back(Return(FilterAction(rule.verdict)));
  // Failed comparisons jump past the return, to the next rule.
  for (size_t at : comparisons) {
    const uint8_t next = JumpLength(code.size() - at - 1);
    (BPF_OP(code[at].code) == BPF_JGT ? code[at].jt : code[at].jf) = next;
  }
  return code;
}

Code CompileRange(const Range& range) {
  Code code;
  for (const ArgumentRule& rule : range.rules) Append(code, CompileRule(rule));
  code.push_back(Return(FilterAction(range.verdict)));
  return code;
}

Code CompileSearch(std::span<const Range> ranges) {
  if (ranges.size() == 1) return CompileRange(ranges[0]);
  const size_t middle = ranges.size() / 2;
  const Code below = CompileSearch(ranges.first(middle));
  Code code;
  const uint32_t pivot = ranges[middle].first;
  if (below.size() <= UINT8_MAX) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, pivot, JumpLength(below.size()), 0));
  } else {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, pivot, 0, 1));
    code.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(below.size())));
  }
  Append(code, below);
  Append(code, CompileSearch(ranges.subspan(middle)));
  return code;
}

void AddRange(std::vector<Range>& ranges, const Range& range) {
  if (!ranges.empty()) {
    const Range& last = ranges.back();
    const bool alike = last.rules.data() == range.rules.data() &&
                       last.rules.size() == range.rules.size() &&
                       FilterAction(last.verdict) == FilterAction(range.verdict);
    if (alike) return;
  }
  ranges.push_back(range);
}

std::vector<Range> RangesOf(SyscallAbi abi, bool real_paths) {
  std::vector<SyscallEntry> entries;
  for (const SyscallEntry& entry : SyscallTable()) {
    if (entry.number(abi) >= 0) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(), [abi](const SyscallEntry& a, const SyscallEntry& b) {
    return a.number(abi) < b.number(abi);
  });
  std::vector<Range> ranges;
  uint32_t next = 0;
  for (const SyscallEntry& entry : entries) {
    const auto number = static_cast<uint32_t>(entry.number(abi));
    if (number < next) abort();  // listed twice
    if (number > next) AddRange(ranges, {next, kUnknownCall, {}});
    const CallRule* rule = entry.RuleFor(real_paths);
    AddRange(ranges,
             rule == nullptr ? Range{number, {}, {}} : Range{number, rule->otherwise, rule->rules});
    next = number + 1;
  }
  AddRange(ranges, {next, kUnknownCall, {}});
  return ranges;
}

}  // namespace

uint32_t FilterAction(const Verdict& verdict) {
  if (verdict.allowed()) return SECCOMP_RET_ALLOW;
  if (verdict.notified()) return SECCOMP_RET_USER_NOTIF;
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(verdict.error);
}

SeccompProgram CompileFilter(SyscallAbi abi, bool real_paths) {
  const bool x86 = abi == SyscallAbi::kX86_64;
  SeccompProgram program;
  Code& code = program.code;
  code.push_back(Load(offsetof(seccomp_data, arch)));
  code.push_back(
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 1, 0));
  code.push_back(Return(SECCOMP_RET_KILL_PROCESS));
  code.push_back(Load(offsetof(seccomp_data, nr)));
  if (x86) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 3));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kNoCall, 0, 1));
    code.push_back(Return(FilterAction(kUnknownCall)));
    code.push_back(Return(SECCOMP_RET_KILL_PROCESS));
  }
  Append(code, CompileSearch(RangesOf(abi, real_paths)));
  if (code.size() > BPF_MAXINSNS) abort();
  return program;
}

int InstallSeccomp(const sock_fprog& program) {
  // Without the second flag a signal (such as SIGALRM) interrupts a notified call that the daemon
  // has already answered, and the caller repeats it.
  const unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  long listener =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | kSeccompWaitKillableRecv, &program);
  if (listener < 0 && errno == EINVAL) {
    listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  }
  return listener < 0 ? -errno : static_cast<int>(listener);
}

}  // namespace cloche::sys
