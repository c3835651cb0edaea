#pragma once

#include <stdint.h>

#include <string>

#include "sys/cgroup.h"
#include "sys/fd.h"

namespace cloche::sys {

struct CgroupUsage {
  int64_t cpu_us = -1;
  int64_t memory_bytes = -1;
  int64_t peak_bytes = -1;
  int64_t pids = -1;
  int64_t oom_kills = 0;
  int64_t pid_refusals = 0;
};
enum class UsageDetail { kBaseline, kResult, kCurrent };  // cpu and oom; + peak, refusals; + now

// Reads the counters of one group, without privileges. Keeps the files open that every command's
// result needs: opening them costs more than reading them.
class CgroupMeter {
 public:
  CgroupMeter() = default;  // of a sandbox without a group: everything is unknown
  // `cgroup` is the path below the hierarchy's mount point.
  CgroupMeter(const CgroupHost& host, const std::string& cgroup);
  CgroupUsage Read(UsageDetail detail);
  int64_t Pids() { return pids_now_.Read(); }  // including init; -1 = not counted

 private:
  struct Counter {
    std::string path;
    const char* key = "";
    Fd file;
    int64_t Read();
  };
  CgroupVersion version_ = CgroupVersion::kNone;
  Counter cpu_, oom_kills_, peak_, refusals_, pids_now_;
  std::string memory_now_;
};

}  // namespace cloche::sys
