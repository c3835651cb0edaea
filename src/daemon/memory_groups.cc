#include "daemon/memory_groups.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>

#include "sys/file.h"

namespace cloche::daemon {

MemoryGroups::MemoryGroups(const sys::CgroupHost& host, const std::string& cgroup)
    : version_(host.version),
      path_((host.version == sys::CgroupVersion::kV2 ? host.unified : host.memory) + cgroup) {}

void MemoryGroups::Enter(int64_t kills_of_sandbox) {
  // Spawn has removed the empty ones.
  std::erase_if(all_, [&](uint32_t group) { return Kills(group, kills_of_sandbox) < 0; });
  if (!divided()) before_ = kills_of_sandbox;
  current_ = next_++;
  all_.insert(current_);
}

bool MemoryGroups::HasOthers() const {
  std::string pids;
  const std::string file = PathOf(current_) + "/cgroup.procs";
  if (sys::ReadFileAt(AT_FDCWD, file.c_str(), pids) < 0) return true;
  return std::ranges::count(pids, '\n') > 1;
}

int64_t MemoryGroups::Kills(uint32_t group, int64_t kills_of_sandbox) const {
  const bool v2 = version_ == sys::CgroupVersion::kV2;
  // v1 counts only in the victim's own group, v2 also in those above it.
  if (group == 0 && (!v2 || !divided())) return kills_of_sandbox;
  const std::string file = PathOf(group) + (v2 ? "/memory.events" : "/memory.oom_control");
  const int64_t kills = sys::ReadNumberAt(AT_FDCWD, file.c_str(), "oom_kill");
  return kills < 0 ? -1 : kills + (group == 0 ? before_ : 0);
}

std::string MemoryGroups::PathInside(uint32_t group) const {
  const bool whole = group == 0 && (version_ != sys::CgroupVersion::kV2 || !divided());
  return whole ? "/" : fmt::format("/c{}", group);
}

std::string MemoryGroups::PathOf(uint32_t group) const {
  const std::string inside = PathInside(group);
  return inside == "/" ? path_ : path_ + inside;
}

}  // namespace cloche::daemon
