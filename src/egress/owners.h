#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "egress/loop.h"
#include "egress/task.h"

namespace cloche::egress {

// The daemon finds out which program owns a connection, while the program still runs: until then
// the answer that the program waits for is held back. Keyed by the numbers of events.
class Owners {
 public:
  bool wanted = false;  // the daemon says when it knows, or knows that it never will
  void Told(Loop& loop, uint64_t number);
  void Named(uint64_t number);
  void GiveUp(int64_t told_before);
  Task<void> Known(uint64_t number);  // at once, when it was not reported

 private:
  // In a flood nobody waits: the daemon would not look up so many.
  static constexpr size_t kMostWaiting = 256;
  struct Waiting {
    std::shared_ptr<Signal> known;
    int64_t told = 0;
  };
  std::map<uint64_t, Waiting> waiting_;
};

}  // namespace cloche::egress
