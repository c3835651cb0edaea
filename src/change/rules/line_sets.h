#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"

namespace cloche::rules {

// Of the blanks around it; a line break counts as content.
inline std::string_view TrimLine(std::string_view text) { return Trim(text, " \t\r\f\v"); }

bool ContainsWord(std::string_view text, std::string_view word);  // not within a longer word

// Calls visit(line) for each line, without its end, a CR before it included.
template <typename Visit>
void ForEachLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
  }
}
std::vector<std::string_view> Lines(std::string_view text);

// Something of a file that is compared with the other state of it.
struct Part {
  std::string same;   // what it is compared by
  std::string shown;  // what a person sees; "" = `same`
};

// What is in `now` more often than in `before`, as it is shown, in the order of `now`.
std::vector<std::string> More(const std::vector<Part>& now, const std::vector<Part>& before);

}  // namespace cloche::rules
