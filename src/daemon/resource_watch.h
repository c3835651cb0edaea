#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "daemon/command_list.h"
#include "daemon/init_link.h"
#include "daemon/memory_groups.h"
#include "daemon/terms.h"
#include "sys/cgroup_meter.h"

namespace cloche::daemon {

// The resources a sandbox uses, as its cgroup counts them, and which of its commands ran into a
// limit. Without a cgroup nothing is counted.
class ResourceWatch {
 public:
  ResourceWatch(asio::io_context& io, const Terms& terms, CommandList& commands, InitLink& init)
      : io_(io), terms_(terms), commands_(commands), init_(init), oom_(io), dividing_(io) {}

  // `cgroup` is its path below the hierarchy's mount point.
  void Open(const sys::CgroupHost& cgroups, const std::string& cgroup);
  void OpenWithoutCgroup();
  // `oom` is readable when memory ran out. `owner` owns this object, and lives as long as it is
  // watched.
  void WatchMemory(sys::Fd oom, std::shared_ptr<const void> owner);
  void Close();

  sys::CgroupVersion version() const { return version_; }  // of the last cgroup
  sys::CgroupUsage Usage(sys::UsageDetail detail = sys::UsageDetail::kCurrent) const {
    return meter_.Read(detail);
  }
  bool WasOutOfMemory() const;  // since it was opened

  // The next command would share its memory group with another: spawn must make a new one.
  bool NeedsGroup() const;
  uint32_t next_group() const { return groups_.next(); }
  void EnterGroup();                      // after spawn has made it
  Gate& dividing() { return dividing_; }  // closed while spawn makes one

  void NoteStart(CommandRun& command);            // before it starts: records the usage so far
  sys::CgroupUsage NoteEnd(CommandRun& command);  // marks the limits it met

 private:
  Task<void> Watch(std::shared_ptr<const void> owner);
  bool CheckMemory();
  void EndGroup(uint32_t group);
  LimitHit MemoryHit() const;

  asio::io_context& io_;
  const Terms& terms_;
  CommandList& commands_;
  InitLink& init_;
  sys::CgroupVersion version_ = sys::CgroupVersion::kNone;
  mutable sys::CgroupMeter meter_;
  MemoryGroups groups_;
  asio::posix::stream_descriptor oom_;
  Gate dividing_;
  std::map<uint32_t, int64_t> kills_seen_;  // by memory group
  int64_t refusals_seen_ = 0;
};

}  // namespace cloche::daemon
