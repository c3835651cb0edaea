#pragma once

#include <string>
#include <vector>

namespace cloche::apply {

// Absolute paths as JSON can hold them, and so few that a request has room for them: a path that is
// not valid UTF-8 becomes the directory it is in, and so do the deepest ones while there are too
// many.
std::vector<std::string> Outline(std::vector<std::string> paths);

}  // namespace cloche::apply
