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

// Reads the machine and the password database. Policy sees only HostFacts and UserFacts.
HostFacts GatherHostFacts(Mode mode, const Directories& directories,
                          const sys::CgroupHost& cgroups);
UserFacts AccountOf(uint32_t uid);  // name and home; the socket tells the rest
std::vector<std::string> OtherHomes(uint32_t uid);
int64_t PeopleStamp();  // changes when an account or a home comes or goes

// The paths in /proc/net/unix, except in places that sandboxes have of their own. Programs choose
// these paths: one may not exist, or may not be a socket.
std::vector<std::string> ListedSockets(const std::string& proc_net_unix);

// Tells when GatherHostFacts would return something else. Costs a few system calls; if
// BindsTopDirectory, it also reads /proc/net/unix.
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
