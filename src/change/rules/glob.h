#pragma once

#include <string_view>

namespace cloche::rules {

// `*` and `?` stay within a component, `**/` is any number of components including none, `**`
// anything. Ignores ASCII case: a rule must hold on filesystems that do, too. Takes time
// proportional to the product of the lengths at most.
bool GlobMatches(std::string_view glob, std::string_view path);

// The same for a glob that is matched against many paths. Points into the glob's text.
class PathGlob {
 public:
  explicit PathGlob(std::string_view text);
  bool Matches(std::string_view path) const;
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  bool literal_ = false;   // no wildcards
  std::string_view head_;  // before the first wildcard
  std::string_view tail_;  // after the last
  std::string_view part_;  // after a leading `**/`, up to the next wildcard
};

// For names other than paths: `*` matches anything, and is the only wildcard.
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

}  // namespace cloche::rules
