#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cloche::daemon {

// Measures the steps of a request, in order.
class StepTimer {
 public:
  void Start() { last_ = std::chrono::steady_clock::now(); }
  void Mark(std::string step) {
    auto now = std::chrono::steady_clock::now();
    Add(std::move(step), std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  void Add(std::string step, double milliseconds) {
    steps_.emplace_back(std::move(step), milliseconds);
  }
  const std::vector<std::pair<std::string, double>>& steps() const { return steps_; }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> steps_;
};

}  // namespace cloche::daemon
