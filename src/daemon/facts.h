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

// Says when GatherHostFacts would answer something else: asking costs a few system calls.
class HostWatch {
 public:
  explicit HostWatch(Mode mode);
  bool Changed();  // since the last call; true the first time

 private:
  Mode mode_;
  sys::Fd mounts_;
  std::vector<std::string> sockets_;
  std::string hostname_;
  int64_t root_stamp_ = -1;
};

}  // namespace cloche::daemon
