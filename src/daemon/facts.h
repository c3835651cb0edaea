#pragma once

#include <string>

#include "policy/facts.h"
#include "sys/cgroup.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace cloche::daemon {

struct Directories {
  std::string state;    // pool, registry, logs
  std::string runtime;  // socket
};

// Reads the machine and the password database; HostFacts and UserFacts are what policy sees.
HostFacts GatherHostFacts(Mode mode, const Directories& directories,
                          const sys::CgroupHost& cgroups);
UserFacts AccountOf(uint32_t uid);  // name and home; the rest is known by the socket
std::vector<std::string> OtherHomes(uint32_t uid);
int64_t PeopleStamp();  // changes when an account or a home comes or goes

// The paths in /proc/net/unix, but for places that sandboxes have of their own. Programs choose
// what is in there: a path may not exist, or be no socket.
std::vector<std::string> ListedSockets(const std::string& proc_net_unix);

// Says when GatherHostFacts would answer something else. Asking costs a few system calls; where
// BindsTopDirectory it also reads /proc/net/unix.
class HostWatch {
 public:
  HostWatch();
  bool Changed(const HostFacts& facts);  // since they were gathered; true the first time

 private:
  sys::Fd mounts_;
  std::string hostname_;
  int64_t root_stamp_ = -1;
};

}  // namespace cloche::daemon
