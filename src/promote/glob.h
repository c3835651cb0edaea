#pragma once

#include <string_view>

namespace cloche::promote {

// `*` and `?` stay within a component, `**/` is any number of components (none, too), `**`
// anything. Letters match without regard to case (ASCII): where the file system does not care,
// neither may a rule. Takes time of the product of the lengths at most.
bool GlobMatches(std::string_view glob, std::string_view path);

// For names that are no paths: `*` is anything, there is nothing else.
bool StarMatches(std::string_view pattern, std::string_view text);

// Calls visit(word) for each of the words between spaces until one returns true.
template <typename Visit>
bool AnyWord(std::string_view words, Visit visit) {
  while (!words.empty()) {
    const size_t end = words.find(' ');
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(end == words.npos ? words.size() : end + 1);
    if (!word.empty() && visit(word)) return true;
  }
  return false;
}

}  // namespace cloche::promote
