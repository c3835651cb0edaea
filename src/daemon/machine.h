#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/facts.h"
#include "daemon/plan_memory.h"
#include "daemon/spawn.h"
#include "policy/plan.h"
#include "policy/request.h"

namespace cloche::daemon {

// The machine and its accounts as they are now, and the plans derived from them.
class Machine {
 public:
  Machine(Mode mode, Directories directories);

  Mode mode() const { return mode_; }
  const std::string& state_directory() const { return directories_.state; }
  const sys::CgroupHost& cgroups() const { return cgroups_; }

  const HostFacts& facts();
  const HostFacts& FreshFacts();  // also facts that change silently: sysctls
  bool HasChanged() { return watch_.Changed(facts_); }
  UserFacts FactsOf(const sys::PeerIdentity& peer);
  Result<Planned> Plan(const SandboxRequest& request, const UserFacts& user, std::string id);
  // Explains what cloche-spawn could not do, and what helps on this machine.
  Error Explain(const SpawnAnswer& answer);

 private:
  // From the password database, as old as the other facts.
  struct KnownPerson {
    UserFacts account;
    std::vector<std::string> other_homes;
  };
  const KnownPerson& Person(uint32_t uid);

  Mode mode_;
  Directories directories_;
  sys::CgroupHost cgroups_;
  HostWatch watch_;
  HostFacts facts_;
  PlanMemory plans_;
  std::map<uint32_t, KnownPerson> people_;
  int64_t people_stamp_ = 0;
};

}  // namespace cloche::daemon
