#pragma once

#include <cstddef>

namespace cloche::egress {

// How much there may be to mask. A byte of a value is up to 19 nodes of the automaton, in all its
// spellings, and a node is 9.25 bytes of memory: of one sandbox at most 17 MiB.
inline constexpr size_t kLongestValue = 8 << 10;
inline constexpr size_t kMostGrantedBytes = 64 << 10;  // of what a sandbox was granted in its life
inline constexpr size_t kMostRetiredBytes = 32 << 10;  // of what an owner has replaced or removed

}  // namespace cloche::egress
