#pragma once

#include <functional>
#include <string_view>

namespace cloche::change {

// The content of a binary file as `git apply` takes it: "literal SIZE" and lines in base 85 of a
// zlib stream. That one is not compressed: it may be as large as the content, but needs no memory.
// False: the sink had enough.
bool WriteLiteral(std::string_view content, const std::function<bool(std::string_view)>& sink);

}  // namespace cloche::change
