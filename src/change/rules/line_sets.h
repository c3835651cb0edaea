#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"

namespace cloche::rules {

// Trims surrounding blanks; a line break counts as content.
inline std::string_view TrimLine(std::string_view text) { return Trim(text, " \t\r\f\v"); }

bool ContainsWord(std::string_view text, std::string_view word);  // as a whole word

// Calls visit(line) for each line, without its line end (LF or CRLF).
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

// A part of a file, compared with the file's other state.
struct Part {
  std::string same;   // compared by this
  std::string shown;  // shown to people; "" = `same`
};

// The parts that `now` has more often than `before`, as shown, in the order of `now`.
std::vector<std::string> More(const std::vector<Part>& now, const std::vector<Part>& before);

}  // namespace cloche::rules
