#pragma once

#include <string>
#include <vector>

#include "base/state_layout.h"
#include "promoter/plan.h"

namespace cloche::promoter {

bool Covers(const std::vector<std::string>& directories, const std::string& path);

// Whether a promotion is about this path.
bool Asked(const Wish& wish, const std::string& path);

// Promotions keep what they replaced there: it is nobody else's to change.
bool IsKept(const Wish& wish, const std::string& path);

// The innermost overlay a path is in.
std::string TargetOf(const StateLayout& layout, const std::string& path);

}  // namespace cloche::promoter
