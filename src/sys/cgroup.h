#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "sys/fd.h"

namespace cloche::sys {

enum class CgroupVersion { kNone, kV1, kV2 };

// Where this process may create cgroups: v2 if its controllers are usable; v1 (with cgroup.kill and
// cgroup.freeze from the unified tree beside it) on hybrid machines.
struct CgroupHost {
  CgroupVersion version = CgroupVersion::kNone;
  std::string unified;  // mount point of cgroup2, v2 and hybrid
  std::string parent;   // v2: directory below `unified` we may create in ("" = its root)
  std::string memory, pids, cpu, cpuacct, cpuset;  // v1 mount points
  std::string why_not;                             // kNone: the reason
};
CgroupHost FindCgroups(bool privileged);

// The groups of one daemon: a common parent and a child per sandbox.
class CgroupTree {
 public:
  // Creates the parent, and kills and removes what an earlier daemon with the same tag left.
  static int Open(CgroupHost host, const std::string& tag, CgroupTree& tree, std::string& failed);

  const CgroupHost& host() const { return host_; }
  std::string PathOf(const std::string& name) const { return parent_ + "/" + name; }

  int Create(const std::string& name, std::string& failed) const;
  // v2: a directory fd for CLONE_INTO_CGROUP; v1: -1, use Attach.
  Fd Open(const std::string& name) const;
  // v1: the cgroup.procs of each hierarchy. A process that writes "0" there moves itself; the
  // kernel may make it wait ten milliseconds, so that should not be spawn.
  int OpenProcs(const std::string& name, std::vector<Fd>& procs, std::string& failed) const;
  int SetLimits(const std::string& name, uint64_t cpu_millis, uint64_t memory, uint64_t pids,
                std::string& failed) const;
  int ClearLimits(const std::string& name, std::string& failed) const;  // before setting others
  // The directories in which programs inside look for their limits, and where they expect them
  // below /sys/fs/cgroup.
  struct View {
    std::string directory, target;
  };
  std::vector<View> Views(const std::string& name) const;
  Fd WatchOom(const std::string& name) const;
  // Puts everything that `init` starts from now on into memory group `group` (counted from 1) below
  // the sandbox's, whose own limits continue to cover all of it. Earlier processes stay together:
  // on v2 in group 0. Waits for an RCU grace period of the kernel. Removes empty groups.
  int Divide(const std::string& name, uint32_t group, pid_t init, uint64_t memory,
             std::string& failed) const;
  int Kill(const std::string& name) const;
  int Freeze(const std::string& name, int timeout_ms) const;  // returns once all of it is frozen
  int Thaw(const std::string& name) const;
  int64_t DirtyBytes(const std::string& name) const;  // written, not yet on disk; -1 = unknown
  int Remove(const std::string& name) const;          // -EBUSY while processes remain
  void RemoveAll() const;  // kills and removes every child, then the parent

 private:
  std::string CorePath(const std::string& name) const;  // where cgroup.procs/kill/freeze are
  std::string MemoryPath(const std::string& name) const;
  bool MakeCpuset() const;
  CgroupHost host_;
  std::string parent_;  // "/cloche-TAG", with the v2 delegation prefix
};

}  // namespace cloche::sys
