#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace cloche::daemon {

// The logs of ended commands, by owner. Each owner's logs take a bounded part of the disk: the
// oldest go first.
class LogBudget {
 public:
  explicit LogBudget(uint64_t most_bytes = uint64_t{1} << 30) : most_bytes_(most_bytes) {}
  void Add(uint32_t owner, const std::string& path);

 private:
  struct Log {
    std::string path;
    uint64_t bytes = 0;
  };
  struct Logs {
    std::deque<Log> oldest_first;
    uint64_t bytes = 0;
  };
  uint64_t most_bytes_;
  std::map<uint32_t, Logs> owners_;
};

}  // namespace cloche::daemon
