#include "daemon/plan_memory.h"

#include <algorithm>

namespace cloche::daemon {
namespace {

constexpr size_t kRemembered = 8;

// The parts of a request that a plan may depend on; the rest differs from run to run, and policy
// does not see it.
SandboxRequest Relevant(const SandboxRequest& request) {
  SandboxRequest relevant;
  relevant.base_directory = request.base_directory;
  relevant.cwd = request.cwd;
  relevant.home = request.home;
  relevant.project = request.project;
  relevant.limits = request.limits;
  relevant.ro = request.ro;
  relevant.rw = request.rw;
  relevant.hide = request.hide;
  relevant.declared = request.declared;
  relevant.drop_root = request.drop_root;
  relevant.in_memory = request.in_memory;
  relevant.network = request.network;
  relevant.services = request.services;
  relevant.canaries = request.canaries;
  return relevant;
}

}  // namespace

Result<Planned> PlanMemory::Plan(const HostFacts& facts, const UserFacts& user,
                                 const SandboxRequest& request, std::string sandbox_id) {
  SandboxRequest relevant = Relevant(request);
  auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return known.user == user && known.request == relevant; });
  if (found == known_.end()) {
    ASSIGN_OR_RETURN(Planned planned, MakePlan(facts, user, relevant, ""));
    known_.push_front({user, std::move(relevant), std::move(planned)});
    if (known_.size() > kRemembered) known_.pop_back();
    found = known_.begin();
  }
  Planned planned = found->planned;
  planned.plan.sandbox_id = std::move(sandbox_id);
  return planned;
}

}  // namespace cloche::daemon
