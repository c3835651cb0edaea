#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/event.h"

namespace cloche::daemon {

// One sandbox's connections and refusals: a JSON line per connection, on disk as long as the
// sandbox exists (docs/formats/network-log.md). Two files take turns, so that it is bounded, and
// the number of dropped records is kept.
class NetworkLog {
 public:
  struct Totals {
    uint64_t records = 0;  // written, including dropped ones
    uint64_t dropped = 0;
    uint64_t allowed = 0, denied = 0;
    uint64_t bytes_up = 0, bytes_down = 0;
  };

  explicit NetworkLog(std::string path, size_t most_bytes = size_t{2} << 20)
      : path_(std::move(path)), most_bytes_(most_bytes) {}

  void Append(const Json& record);
  std::vector<std::string> Lines() const;  // the remaining ones, oldest first
  const Totals& totals();

 private:
  void Open();  // reads what an earlier daemon wrote
  void Turn();
  void WriteHead();
  void Count(const Json& record);

  std::string path_;
  size_t most_bytes_;
  bool opened_ = false;
  size_t size_ = 0;
  uint64_t in_file_ = 0, in_older_ = 0;  // records
  Totals totals_;
};

}  // namespace cloche::daemon
