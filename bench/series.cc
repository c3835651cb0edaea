#include "series.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace cloche::bench {

double Series::Quantile(double q) const {
  if (values_.empty()) return std::nan("");
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  const auto last = static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(q * last);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = q * last - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

std::vector<Series> Alternate(const std::vector<Once>& contenders, const Schedule& schedule) {
  std::vector<Series> all(contenders.size());
  for (int round = -schedule.warmup; round < schedule.rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      for (int turn = 0; turn < schedule.block; ++turn) {
        std::this_thread::sleep_for(schedule.pause);
        const double ms = contenders[i]();
        if (round >= 0) all[i].Add(ms);
      }
    }
  }
  return all;
}

}  // namespace cloche::bench
