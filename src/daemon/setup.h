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
  // Creates the directories and binds the socket, unless systemd passed one; empty arguments mean
  // the defaults.
  static Result<Setup> Open(Mode mode, std::string socket, std::string state);

  const Directories& directories() const { return directories_; }
  const std::string& spawn_program() const { return spawn_program_; }
  // System mode, after cloche-spawn was started: drops root for good; the state stays accessible.
  Status GiveUpRoot();
  int TakeListener() { return listener_.Release(); }
  void KeepLog();  // redirects standard error from the starter's to a file

 private:
  Mode mode_{};
  Directories directories_;
  std::string spawn_program_;
  sys::Fd listener_;
  uint32_t uid_ = 0, gid_ = 0;
};

}  // namespace cloche::daemon
