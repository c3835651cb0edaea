#include "daemon/memory_groups.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/sandbox.h"
#include "sys/file.h"
#include "sys/message.h"
#include "sys/stream.h"

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
  // v1 counts in the victim's own group only, v2 in those above it, too.
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

void Sandbox::EnterMemoryGroup() {
  memory_groups_.Enter(Usage(sys::UsageDetail::kBaseline).oom_kills);
  std::erase_if(kills_seen_,
                [&](const auto& seen) { return !memory_groups_.all().contains(seen.first); });
}

// Most commands run alone, and find nobody.
bool Sandbox::NeedsMemoryGroup() {
  if (!memory_groups_.counts() || planned.limits.memory.value_or(0) == 0) return false;
  for (const auto& [number, command] : commands_)
    if (!command->ended() && command->memory_group == memory_groups_.current()) return true;
  return meter_.Pids() != 1 && memory_groups_.HasOthers();
}

LimitHit Sandbox::MemoryHit() const {
  uint64_t limit = planned.limits.memory.value_or(0);
  return {"memory", static_cast<double>(limit), "killed: memory limit " + FormatBytes(limit)};
}

// The verdict comes from the counters: a shell around the killed process may well have exited 0.
std::vector<LimitHit> Sandbox::LimitsHit(const CommandRun& command, const sys::CgroupUsage& usage) {
  std::vector<LimitHit> hits;
  const uint32_t group = command.memory_group;
  const int64_t kills = memory_groups_.Kills(group, usage.oom_kills);
  if (kills > command.oom_before) hits.push_back(MemoryHit());
  if (kills > std::max(command.oom_before, kills_seen_[group])) {  // it ended before we were told
    kills_seen_[group] = kills;
    EndForMemory(group);
  }
  if (usage.pid_refusals > command.refusals_before)
    hits.push_back(
        {"pids", static_cast<double>(planned.limits.pids.value_or(0)),
         fmt::format("limit of {} processes reached: {} refused", planned.limits.pids.value_or(0),
                     usage.pid_refusals - command.refusals_before)});
  return hits;
}

Task<void> Sandbox::WatchOom([[maybe_unused]] std::shared_ptr<Sandbox> self, bool v2) {
  using Descriptor = asio::posix::stream_descriptor;
  while (oom_.is_open()) {
    auto [error] =
        co_await oom_.async_wait(v2 ? Descriptor::wait_error : Descriptor::wait_read, kAwait);
    if (error || !oom_.is_open()) co_return;
    char drained[4096];
    if (v2) sys::Rewind(oom_.native_handle());
    sys::ReadSome(oom_.native_handle(), drained, sizeof drained);
    // v1 tells that memory has run out; the counter moves when the victim has been killed.
    for (int attempt = 0; !CheckOom() && attempt < 100; ++attempt) {
      asio::steady_timer pause(io_, std::chrono::milliseconds(10));
      co_await pause.async_wait(kAwait);
      if (!oom_.is_open()) co_return;
    }
  }
}

bool Sandbox::WasOutOfMemory() {
  const int64_t whole = Usage(sys::UsageDetail::kBaseline).oom_kills;
  return whole > 0 || std::ranges::any_of(memory_groups_.all(), [&](uint32_t group) {
           return memory_groups_.Kills(group, whole) > 0;
         });
}

bool Sandbox::CheckOom() {
  const int64_t whole = Usage(sys::UsageDetail::kBaseline).oom_kills;
  bool found = false;
  for (const uint32_t group : std::set<uint32_t>(memory_groups_.all())) {
    const int64_t kills = memory_groups_.Kills(group, whole);
    if (kills <= std::max<int64_t>(0, kills_seen_[group])) continue;
    kills_seen_[group] = kills;
    found = true;
    EndForMemory(group);
  }
  return found;
}

// The kernel kills one process; what is left of the command would limp on. The others of the
// sandbox go on, and are told.
void Sandbox::EndForMemory(uint32_t group) {
  std::string who;
  for (auto& [number, command] : commands_) {
    if (command->ended() || command->memory_group != group) continue;
    const CommandRequest& asked = command->request();
    const std::string shown = !asked.service.empty() ? "service " + asked.service
                              : asked.argv.empty()
                                  ? fmt::format("command {}", number)
                                  : fmt::format("command {} ({})", number, asked.argv[0]);
    who += (who.empty() ? "" : ", ") + EscapeForTerminal(shown);
    command->MarkLimit(MemoryHit());
    NoteKill(*command);
  }
  const std::string message =
      fmt::format("memory limit {} of the sandbox reached: {} was killed; the others go on",
                  FormatBytes(planned.limits.memory.value_or(0)),
                  who.empty() ? "a process that an earlier command left" : who);
  for (auto& [number, command] : commands_)
    if (!command->ended() && command->memory_group != group)
      command->Tell(FrameType::kNotice, {{"kind", "memory"}, {"message", message}});
  if (who.empty()) return;
  InitMessage end{};
  end.op = memory_groups_.divided() ? InitOp::kKillGroup : InitOp::kKillAll;
  end.value = cgroup_version_ == sys::CgroupVersion::kV2 ? 1 : 0;
  memory_groups_.PathInside(group).copy(end.name, sizeof end.name - 1);
  if (control_.is_open()) sys::SendMessage(control_.native_handle(), &end, sizeof end);
}

}  // namespace cloche::daemon
