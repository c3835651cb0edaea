#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "sys/fd.h"

namespace cloche::sys {

enum class CgroupVersion { kNone, kV1, kV2 };

// Where this process may make control groups. v2 wherever its controllers are usable; v1 (with
// cgroup.kill and cgroup.freeze from the unified tree beside it) on hybrid machines.
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
  // Makes the parent and removes what an earlier daemon with the same tag left, killing it first.
  static int Open(CgroupHost host, const std::string& tag, CgroupTree& tree, std::string& failed);

  const CgroupHost& host() const { return host_; }
  std::string PathOf(const std::string& name) const { return parent_ + "/" + name; }

  int Create(const std::string& name, std::string& failed) const;
  // v2: a directory fd for CLONE_INTO_CGROUP; v1: -1, use Attach.
  Fd Open(const std::string& name) const;
  // v1: the cgroup.procs of each hierarchy. A process that writes "0" there moves itself; the
  // kernel may keep it waiting for ten milliseconds, so it had better not be spawn.
  int OpenProcs(const std::string& name, std::vector<Fd>& procs, std::string& failed) const;
  int SetLimits(const std::string& name, uint64_t cpu_millis, uint64_t memory, uint64_t pids,
                std::string& failed) const;
  int ClearLimits(const std::string& name, std::string& failed) const;  // before others are set
  // What programs inside look for their limits in: a directory, and where they expect it below
  // /sys/fs/cgroup.
  struct View {
    std::string directory, target;
  };
  std::vector<View> Views(const std::string& name) const;
  Fd WatchOom(const std::string& name) const;
  // From here on what `init` starts is in the memory group `group` (from 1 on) below the sandbox's,
  // whose own limits go on to hold for all of it. What ran before stays together: on v2 in group 0.
  // Waits for a grace period of the kernel. Groups that nobody is in any more are removed.
  int Divide(const std::string& name, uint32_t group, pid_t init, uint64_t memory,
             std::string& failed) const;
  int Kill(const std::string& name) const;
  int Freeze(const std::string& name, int timeout_ms) const;  // returns when all of it stands still
  int Thaw(const std::string& name) const;
  int64_t DirtyBytes(const std::string& name) const;  // written, not yet on disk; -1 = unknown
  int Remove(const std::string& name) const;          // -EBUSY while processes remain
  void RemoveAll() const;  // kill and remove every child, then the parent

 private:
  std::string CorePath(const std::string& name) const;  // where cgroup.procs/kill/freeze are
  std::string MemoryPath(const std::string& name) const;
  bool MakeCpuset() const;
  CgroupHost host_;
  std::string parent_;  // "/cloche-TAG", with the v2 delegation prefix
};

}  // namespace cloche::sys
