#include "daemon/resource_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <set>

#include "base/text.h"
#include "sys/stream.h"

namespace cloche::daemon {

void ResourceWatch::Open(const sys::CgroupHost& cgroups, const std::string& cgroup) {
  OpenWithoutCgroup();
  version_ = cgroups.version;
  meter_ = sys::CgroupMeter(cgroups, cgroup);
  groups_ = MemoryGroups(cgroups, cgroup);
}

void ResourceWatch::OpenWithoutCgroup() {
  version_ = sys::CgroupVersion::kNone;
  meter_ = {};
  groups_ = {};
  kills_seen_.clear();
  refusals_seen_ = 0;
}

void ResourceWatch::WatchMemory(sys::Fd oom, std::shared_ptr<const void> owner) {
  sys::SetNonBlocking(oom.get());
  oom_.assign(oom.Release());
  asio::co_spawn(io_, Watch(std::move(owner)), kDetached);
}

void ResourceWatch::Close() {
  boost::system::error_code ignored;
  (void)oom_.close(ignored);
  meter_ = {};
}

void ResourceWatch::EnterGroup() {
  groups_.Enter(Usage(sys::UsageDetail::kBaseline).oom_kills);
  std::erase_if(kills_seen_, [&](const auto& seen) { return !groups_.all().contains(seen.first); });
}

// Most commands run alone and need none.
bool ResourceWatch::NeedsGroup() const {
  if (!groups_.counts() || terms_.limits().memory.value_or(0) == 0) return false;
  for (const auto& [number, command] : commands_.all())
    if (!command->ended() && command->memory_group == groups_.current()) return true;
  return meter_.Pids() != 1 && groups_.HasOthers();
}

void ResourceWatch::NoteStart(CommandRun& command) {
  command.memory_group = groups_.current();
  // A new sandbox's counters start at zero (apart from a few ms of its own startup).
  if (commands_.started() == 0 && !groups_.divided()) return;
  const sys::CgroupUsage usage = Usage(sys::UsageDetail::kBaseline);
  command.cpu_us_before = usage.cpu_us;
  command.oom_before = groups_.Kills(command.memory_group, usage.oom_kills);
  command.refusals_before = refusals_seen_;
}

// Uses the counters: a shell around the killed process may well have exited 0.
sys::CgroupUsage ResourceWatch::NoteEnd(CommandRun& command) {
  const sys::CgroupUsage usage = Usage(sys::UsageDetail::kResult);
  const uint32_t group = command.memory_group;
  const int64_t kills = groups_.Kills(group, usage.oom_kills);
  if (kills > std::max(command.oom_before, kills_seen_[group])) {  // it ended before Watch noticed
    kills_seen_[group] = kills;
    EndGroup(group);
  }
  if (kills > command.oom_before) command.MarkLimit(MemoryHit());
  const uint64_t pids = terms_.limits().pids.value_or(0);
  if (usage.pid_refusals > command.refusals_before)
    command.MarkLimit({"pids", static_cast<double>(pids),
                       fmt::format("limit of {} processes reached: {} refused", pids,
                                   usage.pid_refusals - command.refusals_before)});
  refusals_seen_ = usage.pid_refusals;
  return usage;
}

LimitHit ResourceWatch::MemoryHit() const {
  const uint64_t limit = terms_.limits().memory.value_or(0);
  return {"memory", static_cast<double>(limit), "killed: memory limit " + FormatBytes(limit)};
}

Task<void> ResourceWatch::Watch([[maybe_unused]] std::shared_ptr<const void> owner) {
  using Descriptor = asio::posix::stream_descriptor;
  const bool v2 = version_ == sys::CgroupVersion::kV2;
  while (oom_.is_open()) {
    auto [error] =
        co_await oom_.async_wait(v2 ? Descriptor::wait_error : Descriptor::wait_read, kAwait);
    if (error || !oom_.is_open()) co_return;
    char drained[4096];
    if (v2) sys::Rewind(oom_.native_handle());
    sys::ReadSome(oom_.native_handle(), drained, sizeof drained);
    // v1 signals that memory has run out before the counter moves, which happens once the victim is
    // dead.
    for (int attempt = 0; !CheckMemory() && attempt < 100; ++attempt) {
      asio::steady_timer pause(io_, std::chrono::milliseconds(10));
      co_await pause.async_wait(kAwait);
      if (!oom_.is_open()) co_return;
    }
  }
}

bool ResourceWatch::WasOutOfMemory() const {
  const int64_t whole = Usage(sys::UsageDetail::kBaseline).oom_kills;
  return whole > 0 || std::ranges::any_of(groups_.all(), [&](uint32_t group) {
           return groups_.Kills(group, whole) > 0;
         });
}

bool ResourceWatch::CheckMemory() {
  const int64_t whole = Usage(sys::UsageDetail::kBaseline).oom_kills;
  bool found = false;
  for (const uint32_t group : std::set<uint32_t>(groups_.all())) {
    const int64_t kills = groups_.Kills(group, whole);
    if (kills <= std::max<int64_t>(0, kills_seen_[group])) continue;
    kills_seen_[group] = kills;
    found = true;
    EndGroup(group);
  }
  return found;
}

// The kernel kills one process, and the rest of the command would limp on, so end it. The sandbox's
// other commands continue and are informed.
void ResourceWatch::EndGroup(uint32_t group) {
  std::string victims;
  for (const auto& [number, command] : commands_.all()) {
    if (command->ended() || command->memory_group != group) continue;
    const CommandRequest& asked = command->request();
    const std::string shown = !asked.service.empty() ? "service " + asked.service
                              : asked.argv.empty()
                                  ? fmt::format("command {}", number)
                                  : fmt::format("command {} ({})", number, asked.argv[0]);
    victims += (victims.empty() ? "" : ", ") + EscapeForTerminal(shown);
    command->MarkLimit(MemoryHit());
    command->NoteKill();
  }
  const std::string message =
      fmt::format("memory limit {} of the sandbox reached: {} was killed; the others go on",
                  FormatBytes(terms_.limits().memory.value_or(0)),
                  victims.empty() ? "a process that an earlier command left" : victims);
  for (const auto& [number, command] : commands_.all())
    if (!command->ended() && command->memory_group != group)
      command->Tell(FrameType::kNotice, {{"kind", "memory"}, {"message", message}});
  if (victims.empty()) return;
  InitMessage end{};
  end.op = groups_.divided() ? InitOp::kKillGroup : InitOp::kKillAll;
  end.value = version_ == sys::CgroupVersion::kV2 ? 1 : 0;
  groups_.PathInside(group).copy(end.name, sizeof end.name - 1);
  (void)init_.Send(end);
}

}  // namespace cloche::daemon
