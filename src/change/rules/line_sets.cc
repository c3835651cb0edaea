#include "change/rules/line_sets.h"

#include <algorithm>

#include "base/ascii.h"

namespace cloche::rules {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

bool ContainsWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !IsWordCharacter(word.front()) || !IsWordCharacter(text[at - 1]);
    const bool ends =
        end == text.size() || !IsWordCharacter(word.back()) || !IsWordCharacter(text[end]);
    if (starts && ends) return true;
  }
  return false;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  ForEachLine(text, [&](std::string_view line) { lines.push_back(line); });
  return lines;
}

std::vector<std::string> More(const std::vector<Part>& now, const std::vector<Part>& before) {
  std::vector<std::string_view> left;
  for (const Part& each : before) left.emplace_back(each.same);
  std::ranges::sort(left);
  std::vector<size_t> used(left.size());  // at the first of equal elements: how many are used
  std::vector<std::string> more;
  for (const Part& each : now) {
    const auto [first, end] = std::ranges::equal_range(left, std::string_view(each.same));
    const auto count = static_cast<size_t>(end - first);
    const auto at = static_cast<size_t>(first - left.begin());
    if (count > 0 && used[at] < count)
      ++used[at];
    else
      more.push_back(each.shown.empty() ? each.same : each.shown);
  }
  return more;
}

}  // namespace cloche::rules
