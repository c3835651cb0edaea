#pragma once

#include <functional>
#include <string_view>

namespace cloche::change {

// The content of a binary file as `git apply` takes it: "literal SIZE", then a zlib stream in
// base-85 lines. The stream is not compressed: it is as large as the content, but needs no memory.
// False: the sink wants no more.
bool WriteLiteral(std::string_view content, const std::function<bool(std::string_view)>& sink);

}  // namespace cloche::change
