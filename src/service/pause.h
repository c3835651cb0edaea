#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"

namespace cloche::service {

// A process and its descendants stand still for as long as this lives. They are traced, not sent a
// signal: nobody else notices, and if we die, even by kill -9, the kernel lets them go on.
class Pause {
 public:
  Pause() = default;
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause();

  // `started` as the process table tells it: a pid that another process has by now is refused.
  Status Stop(int pid, uint64_t started);
  size_t threads() const { return stopped_.size(); }

 private:
  Status Seize(int thread, int process);
  Status Await(int thread);

  std::map<int, int> stopped_;  // thread -> the signal it was about to get, 0 = none
};

}  // namespace cloche::service
