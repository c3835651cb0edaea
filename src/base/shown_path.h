#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace cloche {

// A path in a message, escaped. Of one that is long, and nobody could read, only how it begins.
inline std::string ShownPath(std::string_view path) {
  constexpr size_t kShown = 200;
  if (path.size() <= kShown) return EscapeForTerminal(path);
  return EscapeForTerminal(path.substr(0, kShown)) + "...";
}

}  // namespace cloche
