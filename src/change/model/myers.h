#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cloche::change {

// Marks what is not common to two sequences: changed[i] of what is to be deleted from `a` or
// inserted from `b`. Myers' algorithm (An O(ND) Difference Algorithm, 1986) in linear space.
// Fewer than 2^30 elements
// each. `work` is what it may still do; false when it ran out, then the marks are right but not
// fewest.
bool MarkChanges(std::span<const uint32_t> a, std::span<const uint32_t> b,
                 std::vector<bool>& changed_a, std::vector<bool>& changed_b, uint64_t& work);

}  // namespace cloche::change
