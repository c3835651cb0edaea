#pragma once

#include <memory>

#include "daemon/sandbox.h"

namespace cloche::daemon {

// While it is held, nobody else saves, restores, starts or ends the sandbox.
class Turn {
 public:
  explicit Turn(std::shared_ptr<Sandbox> sandbox);
  Turn(Turn&&) = default;
  Turn(const Turn&) = delete;
  Turn& operator=(Turn&&) = delete;
  ~Turn();

 private:
  std::shared_ptr<Sandbox> sandbox_;
};

Task<Turn> TakeTurn(std::shared_ptr<Sandbox> sandbox);

}  // namespace cloche::daemon
