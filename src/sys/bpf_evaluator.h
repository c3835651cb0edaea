#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include <optional>
#include <span>

namespace cloche::sys {

// Runs a seccomp program in user space as the kernel would. Nothing when the program is one that
// the kernel refuses to load or that runs off its end. Only the instructions seccomp filters need.
std::optional<uint32_t> EvaluateBpf(std::span<const sock_filter> program, const seccomp_data& data);

}  // namespace cloche::sys
