#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cloche::change {

// Marks the elements not common to two sequences: those to delete from `a` and to insert from `b`.
// Myers' algorithm (An O(ND) Difference Algorithm, 1986) in linear space. Each must have fewer than
// 2^30 elements. `work` is the number of steps left; false if it ran out: the marks are then
// correct, but not minimal.
bool MarkChanges(std::span<const uint32_t> a, std::span<const uint32_t> b,
                 std::vector<bool>& changed_a, std::vector<bool>& changed_b, uint64_t& work);

}  // namespace cloche::change
