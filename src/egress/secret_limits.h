#pragma once

#include <cstddef>

namespace cloche::egress {

// How much there may be to redact. A byte of a value is up to 19 nodes of the automaton, in all its
// spellings, and a node is 9.125 bytes of memory: of one sandbox at most 18 MiB (a value more than
// the bound is held while the daemon sends all values again).
inline constexpr size_t kLongestValue = 8 << 10;
// Counts all that a sandbox was granted in its life, replaced and removed values included.
inline constexpr size_t kMostRedactedBytes = 96 << 10;
inline constexpr size_t kMostRedacted = 512;  // values that an owner has, with old ones

}  // namespace cloche::egress
