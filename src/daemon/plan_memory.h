#pragma once

#include <deque>

#include "policy/plan.h"

namespace cloche::daemon {

// The latest plans. A plan is a pure function of what is known about the machine, the caller and
// the request, so an agent's next command needs no new one. Clear it whenever something about the
// machine changes.
class PlanMemory {
 public:
  Result<Planned> Plan(const HostFacts& facts, const UserFacts& user, const SandboxRequest& request,
                       std::string sandbox_id);
  void Clear() { known_.clear(); }

 private:
  struct Known {
    UserFacts user;
    SandboxRequest request;
    Planned planned;
  };
  std::deque<Known> known_;  // newest first
};

}  // namespace cloche::daemon
