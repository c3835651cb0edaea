#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::pipeline {

struct Launch {
  std::vector<std::string> argv;
  std::string directory;
  std::vector<std::string> variables;  // NAME=value, beside our own
  int log = -1;                        // its output and errors
};

// A command of the stages, in a process group of its own. It waits until it is released, so that
// the journal can record it first; if we die before that, it never begins.
class Child {
 public:
  static Result<Child> Prepare(const Launch& launch);
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        pidfd_(std::move(other.pidfd_)),
        gate_(std::move(other.gate_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() { End(); }

  pid_t pid() const { return pid_; }
  int fd() const { return pidfd_.get(); }  // can be read when it has ended
  void LetGo();
  int Wait();  // its exit status, 128 + n for a signal
  void End();  // it and what it started, if it has not ended

 private:
  Child() = default;

  pid_t pid_ = 0;
  sys::Fd pidfd_, gate_;
};

// When the process with this id was started; 0 = there is none.
uint64_t StartOf(pid_t pid);

}  // namespace cloche::pipeline
