#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::service {

// A process and its descendants stand still for as long as this lives. They are traced, not sent a
// signal: nobody else notices, and if we die, even by kill -9, the kernel resumes them.
class Pause {
 public:
  Pause() = default;
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause();

  // `started` as the process table has it: a pid that belongs to another process by now is refused.
  // Other writers to its data stop with it: a worker may have left the family. While another pause
  // of the process lasts, this waits.
  Status Stop(int pid, uint64_t started, const std::vector<std::string>& data);
  size_t threads() const { return stopped_.size(); }

 private:
  Status Seize(int thread, int process);
  Status Await(int thread);

  sys::Fd turn_;
  std::map<int, int> stopped_;  // thread -> the signal it was about to get, 0 = none
};

}  // namespace cloche::service
