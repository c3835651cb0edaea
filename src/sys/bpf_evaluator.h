#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include <optional>
#include <span>

namespace cloche::sys {

// Runs a seccomp program in user space as the kernel would. nullopt if the kernel would refuse to
// load the program, or it runs off its end. Knows only the instructions that seccomp filters need.
std::optional<uint32_t> EvaluateBpf(std::span<const sock_filter> program, const seccomp_data& data);

}  // namespace cloche::sys
