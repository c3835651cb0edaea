#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace cloche {

// A path in a message, escaped. Of a path too long to read, only the beginning.
inline std::string ShownPath(std::string_view path) {
  constexpr size_t kShown = 200;
  if (path.size() <= kShown) return EscapeForTerminal(path);
  return EscapeForTerminal(path.substr(0, kShown)) + "...";
}

}  // namespace cloche
