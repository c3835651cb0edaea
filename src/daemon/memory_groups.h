#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "sys/cgroup.h"

namespace cloche::daemon {

// The memory groups of one sandbox: below its own, which has the limit, one for each command
// started beside others. The group in which the kernel killed tells which command ran out of
// memory. Init is in the current group, so its children start there. Group 0 is the first.
class MemoryGroups {
 public:
  MemoryGroups() = default;  // counts nothing
  // `cgroup` is the path below the hierarchy's mount point.
  MemoryGroups(const sys::CgroupHost& host, const std::string& cgroup);

  bool counts() const { return version_ != sys::CgroupVersion::kNone; }
  uint32_t current() const { return current_; }
  bool divided() const { return next_ > 1; }
  uint32_t next() const { return next_; }
  const std::set<uint32_t>& all() const { return all_; }
  // Init has moved to group next(). Forgets groups that are gone.
  void Enter(int64_t kills_of_sandbox);

  bool HasOthers() const;  // whether the current group holds more than init
  // How often the kernel killed in it; `kills_of_sandbox` is the count of the sandbox's own group.
  // -1: it is gone.
  int64_t Kills(uint32_t group, int64_t kills_of_sandbox) const;
  std::string PathInside(uint32_t group) const;  // as /proc/PID/cgroup shows it inside

 private:
  std::string PathOf(uint32_t group) const;

  sys::CgroupVersion version_ = sys::CgroupVersion::kNone;
  std::string path_;  // of the sandbox's own group
  uint32_t current_ = 0, next_ = 1;
  int64_t before_ = 0;  // v2: kills in the sandbox before the first division
  std::set<uint32_t> all_ = {0};
};

}  // namespace cloche::daemon
