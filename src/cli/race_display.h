#pragma once

#include <string>
#include <vector>

#include "race/progress.h"

namespace cloche::cli {

// How a race is told on standard error while it runs: lines that are redrawn on a terminal, one
// line per event elsewhere.
class RaceDisplay {
 public:
  explicit RaceDisplay(bool quiet);
  RaceDisplay(const RaceDisplay&) = delete;
  RaceDisplay& operator=(const RaceDisplay&) = delete;
  ~RaceDisplay() { Clear(); }

  bool live() const { return live_; }
  void Note(const std::string& text);   // before the lanes begin
  void Event(const std::string& text);  // not shown live: the lanes' own lines say it
  void Draw(const std::vector<race::LaneResult>& lanes,
            const std::vector<race::LaneProgress>& progress);
  void Clear();  // takes the lines away again

 private:
  bool quiet_;
  bool live_;
  size_t drawn_ = 0;
};

}  // namespace cloche::cli
