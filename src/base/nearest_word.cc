#include "base/nearest_word.h"

#include <algorithm>

namespace cloche {

std::string NearestWord(std::string_view word, const std::vector<std::string>& known) {
  const size_t most = std::clamp<size_t>(word.size() / 3, 1, 3);
  constexpr size_t kLongest = 64;  // nobody meant a name with something longer
  std::string nearest;
  size_t least = most + 1;
  for (const std::string& each : known) {
    if (word.size() > kLongest || each.size() > kLongest || each.empty()) continue;
    // One edit: a letter more, one less, another one, or two neighbours exchanged.
    std::vector<std::vector<size_t>> row(3, std::vector<size_t>(each.size() + 1));
    for (size_t j = 0; j <= each.size(); ++j) row[1][j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      row[2][0] = i;
      for (size_t j = 1; j <= each.size(); ++j) {
        const size_t other = row[1][j - 1] + (word[i - 1] == each[j - 1] ? 0 : 1);
        row[2][j] = std::min({row[1][j] + 1, row[2][j - 1] + 1, other});
        if (i > 1 && j > 1 && word[i - 1] == each[j - 2] && word[i - 2] == each[j - 1])
          row[2][j] = std::min(row[2][j], row[0][j - 2] + 1);
      }
      std::ranges::rotate(row, row.begin() + 1);
    }
    const size_t distance = row[1][each.size()];
    if (distance >= least || distance >= each.size()) continue;
    least = distance;
    nearest = each;
  }
  return nearest;
}

}  // namespace cloche
