#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace cloche {

// Inside, directories can be nested as deep as anybody likes. Within these bounds they are walked;
// deeper ones are named, but not read.
inline constexpr size_t kMostWalkedPath = 59 << 10;  // with a name below it: change::kMaxPath
inline constexpr size_t kMostWalkedDepth = 1000;

inline bool IsTooDeep(std::string_view path) {
  return path.size() > kMostWalkedPath ||
         static_cast<size_t>(std::count(path.begin(), path.end(), '/')) > kMostWalkedDepth;
}

}  // namespace cloche
