#include "sys/cgroup_meter.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>

#include "sys/file.h"

namespace cloche::sys {

int64_t CgroupMeter::Counter::Read() {
  if (path.empty()) return -1;
  if (!file.valid()) file = Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  ssize_t got = pread(file.get(), text, sizeof text - 1, 0);
  if (got < 0) return -1;
  text[got] = '\0';
  return NumberIn(text, key);
}

CgroupMeter::CgroupMeter(const CgroupHost& host, const std::string& cgroup)
    : version_(host.version) {
  const bool v2 = version_ == CgroupVersion::kV2;
  const std::string memory = (v2 ? host.unified : host.memory) + cgroup;
  const std::string pids = (v2 ? host.unified : host.pids) + cgroup;
  const std::string cpu = (v2                     ? host.unified
                           : host.cpuacct.empty() ? host.cpu
                                                  : host.cpuacct) +
                          cgroup;
  cpu_.path = cpu + (v2 ? "/cpu.stat" : "/cpuacct.usage");
  cpu_.key = v2 ? "usage_usec" : "";
  oom_kills_.path = memory + (v2 ? "/memory.events" : "/memory.oom_control");
  oom_kills_.key = "oom_kill";
  peak_.path = memory + (v2 ? "/memory.peak" : "/memory.max_usage_in_bytes");
  refusals_.path = pids + "/pids.events";
  refusals_.key = "max";
  memory_now_ = memory + (v2 ? "/memory.current" : "/memory.usage_in_bytes");
  pids_now_.path = pids + "/pids.current";
}

CgroupUsage CgroupMeter::Read(UsageDetail detail) {
  CgroupUsage usage;
  if (version_ == CgroupVersion::kNone) return usage;
  usage.cpu_us = cpu_.Read();
  if (version_ == CgroupVersion::kV1 && usage.cpu_us > 0) usage.cpu_us /= 1000;  // nanoseconds
  usage.oom_kills = std::max<int64_t>(0, oom_kills_.Read());
  if (detail != UsageDetail::kBaseline) {
    usage.peak_bytes = peak_.Read();
    usage.pid_refusals = std::max<int64_t>(0, refusals_.Read());
  }
  if (detail == UsageDetail::kCurrent) {
    usage.memory_bytes = ReadNumberAt(AT_FDCWD, memory_now_.c_str());
    usage.pids = pids_now_.Read();
  }
  return usage;
}

}  // namespace cloche::sys
