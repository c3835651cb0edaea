#include "sys/bpf_evaluator.h"

#include <stdint.h>
#include <string.h>

namespace cloche::sys {

std::optional<uint32_t> EvaluateBpf(std::span<const sock_filter> program,
                                    const seccomp_data& data) {
  if (program.empty() || program.size() > BPF_MAXINSNS) return std::nullopt;
  uint32_t accumulator = 0;
  // Jumps only go forward, so this ends.
  for (size_t at = 0; at < program.size(); at++) {
    const sock_filter& step = program[at];
    const uint32_t k = step.k;
    bool taken = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (k % 4 != 0 || k > sizeof data - 4) return std::nullopt;
        memcpy(&accumulator, reinterpret_cast<const char*>(&data) + k, 4);
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= k;
        continue;
      case BPF_RET | BPF_K:
        return k;
      case BPF_JMP | BPF_JA:
        at += k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        taken = accumulator == k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        taken = accumulator > k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        taken = accumulator >= k;
        break;
      default:
        return std::nullopt;
    }
    at += taken ? step.jt : step.jf;
  }
  return std::nullopt;
}

}  // namespace cloche::sys
