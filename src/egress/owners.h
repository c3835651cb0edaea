#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "egress/loop.h"
#include "egress/task.h"

namespace cloche::egress {

// The daemon finds out whose a connection is, for which its program has to be there still: what the
// program waits for is held back so long. By the numbers of events.
class Owners {
 public:
  bool wanted = false;  // the daemon says when it knows, or knows that it never will
  void Told(Loop& loop, uint64_t number);
  void Named(uint64_t number);
  void GiveUp(int64_t told_before);
  Task<void> Known(uint64_t number);  // at once, when nobody was told of it

 private:
  // A flood waits for nobody: of so many the daemon would not ask.
  static constexpr size_t kMostWaiting = 256;
  struct Waiting {
    std::shared_ptr<Signal> known;
    int64_t told = 0;
  };
  std::map<uint64_t, Waiting> waiting_;
};

}  // namespace cloche::egress
