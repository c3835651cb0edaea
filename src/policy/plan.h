#pragma once

#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "base/result.h"
#include "policy/facts.h"
#include "policy/hidden.h"
#include "policy/limits.h"
#include "policy/request.h"

namespace cloche {

struct Planned {
  LaunchPlan plan;
  Limits limits;                          // every field set; 0 where nothing is enforced
  std::vector<std::string> not_enforced;  // "memory: no delegated cgroup here"
  std::vector<Difference> differences;
  std::vector<Absence> hidden;
  std::vector<DecoyPlace> decoys;
  std::string cwd;  // where a command starts when it names no directory
};

// The whole policy of starting a sandbox: what it sees and what it may use. Refuses requests that
// cannot be met here instead of giving less.
Result<Planned> MakePlan(const HostFacts& facts, const UserFacts& user,
                         const SandboxRequest& request, std::string sandbox_id);

}  // namespace cloche
