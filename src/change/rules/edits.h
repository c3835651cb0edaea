#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "change/model/lines.h"

namespace cloche::rules {

// The differences of two texts whose lines are numbers: equal lines have equal numbers. Where
// several shortest answers exist this is the one git takes, because a merge of three texts depends
// on it. change::DiffLines places blocks where people like to read them instead.
//
// `work` is what it may still do. When it is used up, or a change is so large that the search takes
// a good way instead of the best (diff/myers.h), the blocks are right but others than git's.
std::vector<change::Block> EditsLikeGit(std::span<const uint32_t> old_lines,
                                        std::span<const uint32_t> new_lines, uint64_t& work);

}  // namespace cloche::rules
