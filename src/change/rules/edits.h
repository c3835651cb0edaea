#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "change/model/lines.h"

namespace cloche::rules {

// The differences between two texts whose lines are numbers: equal lines have equal numbers. If
// several shortest answers exist, this returns git's, because a three-way merge depends on it.
// (change::DiffLines places blocks where people like to read them instead.)
//
// `work` is the number of steps left. If it runs out, or a change is so large that the search
// settles for a good path instead of the best (model/myers.h), the blocks are correct but may
// differ from git's.
std::vector<change::Block> EditsLikeGit(std::span<const uint32_t> old_lines,
                                        std::span<const uint32_t> new_lines, uint64_t& work);

}  // namespace cloche::rules
