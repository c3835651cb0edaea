#pragma once

#include <string>

#include "base/launch_plan.h"
#include "base/result.h"
#include "daemon/facts.h"
#include "sys/fd.h"

namespace cloche::daemon {

// Where this daemon lives: its directories, its socket, and the user it becomes.
class Setup {
 public:
  // Makes the directories and binds the socket, unless systemd passed one; empty arguments mean the
  // usual places.
  static Result<Setup> Open(Mode mode, std::string socket, std::string state);

  const Directories& directories() const { return directories_; }
  const std::string& spawn_program() const { return spawn_program_; }
  // System mode, after cloche-spawn was started: for good, and the state is still in reach.
  Status GiveUpRoot();
  int TakeListener() { return listener_.Release(); }
  void KeepLog();  // standard error, which was the starter's, goes to a file from now on

 private:
  Mode mode_{};
  Directories directories_;
  std::string spawn_program_;
  sys::Fd listener_;
  uint32_t uid_ = 0, gid_ = 0;
};

}  // namespace cloche::daemon
