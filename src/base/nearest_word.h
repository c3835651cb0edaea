#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche {

// The one of `known` that `word` was probably meant to be; "" when none is near.
std::string NearestWord(std::string_view word, const std::vector<std::string>& known);

}  // namespace cloche
