#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::cli {

// A program of ours that works beside us and tells, line by line, how far it is. It ends when we
// do: its standard input is a pipe of ours.
class HelperProcess {
 public:
  static Result<HelperProcess> Start(const std::string& name, std::vector<std::string> arguments);
  HelperProcess(HelperProcess&& other) noexcept
      : input_(std::move(other.input_)),
        output_(std::move(other.output_)),
        pending_(std::move(other.pending_)),
        pid_(std::exchange(other.pid_, 0)) {}
  HelperProcess& operator=(HelperProcess&&) = delete;
  ~HelperProcess() { Finish(); }

  std::string ReadLine();  // without its end; "" when there are no more
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  void EndInput() { input_ = sys::Fd(); }
  bool Finish();  // ends its input and waits for it; false: it did not end well

 private:
  HelperProcess() = default;

  sys::Fd input_, output_;
  std::string pending_;
  pid_t pid_ = 0;
};

}  // namespace cloche::cli
