#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace cloche::bench {

class Series {
 public:
  void Add(double ms) { values_.push_back(ms); }
  size_t size() const { return values_.size(); }
  double Median() const { return Quantile(0.5); }
  double P90() const { return Quantile(0.9); }
  double Best() const { return Quantile(0); }

 private:
  double Quantile(double q) const;
  std::vector<double> values_;
};

class Stopwatch {
 public:
  double Ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Does the thing once and says how long it took, in milliseconds.
using Once = std::function<double()>;

struct Schedule {
  int warmup = 3;  // rounds that do not count
  int rounds = 50;
  int block = 1;                       // how often in a row before it is the next contender's turn
  std::chrono::milliseconds pause{0};  // before each
};

// All contenders take turns in one run, so that whatever else the machine does hits all of them.
std::vector<Series> Alternate(const std::vector<Once>& contenders, const Schedule& schedule);

}  // namespace cloche::bench
