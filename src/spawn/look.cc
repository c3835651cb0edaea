#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>

#include "base/state_layout.h"
#include "spawn/beside.h"
#include "spawn/check.h"
#include "spawn/made.h"
#include "spawn/renamed.h"
#include "spawn/server.h"
#include "spawn/slots.h"
#include "spawn/special.h"
#include "sys/process.h"

// Hands saved states to cloche-diff: the descriptors it needs, the rights of whoever asks, and what
// only root can read of an upper.
namespace cloche::spawn {
namespace {

constexpr ptrdiff_t kMostLooksOfOne = 32;
constexpr size_t kMostLooks = 256;
constexpr size_t kMostPathBytes = 16 << 20;

// Absolute paths, each with a NUL behind it.
Outcome<std::vector<std::string>> ReadPaths(int memory) {
  std::string text;
  if (int error = sys::ReadSealed(memory, text, kMostPathBytes); error < 0)
    return Failed(SpawnStage::kPlan, "read paths", error);
  std::vector<std::string> paths;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\0', at);
    if (end == text.npos || text[at] != '/') return Failed(SpawnStage::kPlan, "read paths", EINVAL);
    paths.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

}  // namespace

Outcome<Server::Look> Server::PrepareLook(const SpawnRequest& request, std::span<const int> fds) {
  const bool flatten = request.op == SpawnOp::kFlatten;
  if (fds.size() != (flatten ? 3 : 6))
    return Failed(SpawnStage::kPlan, "look needs its descriptors", EBADMSG);
  auto plan = ReadPlan(fds[0]);
  if (!plan) return std::unexpected(plan.error());
  Look look;
  if (auto known = IdentifyClient(fds[1], look.caller); !known)
    return std::unexpected(known.error());
  if (auto checked = CheckPlan(*plan, look.caller, mode_); !checked)
    return std::unexpected(checked.error());
  if (auto seen = CheckSources(plan->spec); !seen) return std::unexpected(seen.error());
  auto asked = ReadPaths(fds[2]);
  if (!asked) return std::unexpected(asked.error());
  look.asked = std::move(*asked);
  for (const char* snapshot : {request.snapshot, request.other})
    if (*snapshot != '\0' && !IsSnapshotId(snapshot))
      return Failed(SpawnStage::kPlan, "snapshot id", EINVAL, snapshot);
  if (*request.snapshot == '\0' && ids_.contains(request.sandbox) &&
      (request.flags & kFlagLive) == 0)
    return Failed(SpawnStage::kPlan, "sandbox runs", EBUSY, request.sandbox);
  auto state = *request.snapshot != '\0' ? store_.OpenSnapshot(request.snapshot, look.caller.uid)
                                         : store_.OpenKept(request.sandbox, look.caller.uid);
  if (!state) return std::unexpected(state.error());
  sys::Fd other;
  if (*request.other != '\0') {
    auto opened = store_.OpenSnapshot(request.other, look.caller.uid);
    if (!opened) return std::unexpected(opened.error());
    other = std::move(*opened);
    look.layout.against_other = true;
  }
  auto view = workshop_.View(plan->spec);
  if (!view) return std::unexpected(view.error());
  look.mask = view->mask;
  const auto add = [&](int dir, const std::string& path) {
    sys::Fd fd(openat(dir, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) return -1;
    look.fds.push_back(std::move(fd));
    return kFirstPassedFd + 3 + static_cast<int>(look.fds.size()) - 1;
  };
  const auto slots = Slots::Of(state->get(), plan->spec, view->sources);
  if (!slots) return std::unexpected(slots.error());
  const bool marks = mode_ == Mode::kRootless && !flatten && (request.flags & kFlagPromote) != 0;
  sys::Fd present;
  std::vector<std::string> present_names;
  if (marks && *request.snapshot != '\0') {
    auto kept = store_.OpenKept(request.sandbox, look.caller.uid);
    if (!kept) return std::unexpected(kept.error());
    present = std::move(*kept);
    const auto own = Slots::Of(present.get(), plan->spec, view->sources);
    if (!own) return std::unexpected(own.error());
    present_names = own->names();
  }
  const auto others =
      Slots::Of(other.valid() ? other.get() : store_.empty(), plan->spec, view->sources);
  if (!others) return std::unexpected(others.error());
  for (size_t i = 0, index = 0; i < plan->spec.mounts.size(); ++i) {
    const MountOp& op = plan->spec.mounts[i];
    if (op.kind != MountKind::kOverlay) continue;
    const size_t overlay = index++;
    // One that is read-only may have been writable when it was changed.
    if (!view->sources[i].valid() || !view->sources[i].directory) continue;
    LayoutSlot slot;
    slot.target = op.target;
    // One that is not there was never mounted: nothing was changed in it. Any other failure, and a
    // mask that cannot be opened, would show too little or too much.
    for (const bool of_other : {false, true}) {
      const std::string& name = (of_other ? *others : *slots).names()[overlay];
      if (name.empty()) continue;
      int32_t& upper = of_other ? slot.other : slot.state;
      upper = add((of_other ? other : *state).get(), name + "/u");
      if (upper < 0 && errno != ENOENT)
        return Failed(SpawnStage::kPool, "open upper", errno, op.target);
    }
    if (slot.state < 0 && slot.other < 0) continue;
    slot.base = add(view->sources[i].get(), ".");
    if (slot.base < 0) return Failed(SpawnStage::kMounts, "open base", errno, op.source);
    const bool masked = view->mask->HasLayer(overlay);
    if (masked) slot.mask = add(view->mask->root(), std::to_string(overlay));
    if (masked && slot.mask < 0) return Failed(SpawnStage::kFiles, "open mask", errno, op.target);
    if (overlay < present_names.size() && !present_names[overlay].empty()) {
      const std::string name = present_names[overlay] + "/u";
      sys::Fd upper(
          openat(present.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!upper.valid() && errno != ENOENT)
        return Failed(SpawnStage::kPool, "open upper", errno, op.target);
      if (upper.valid()) look.present.push_back({std::move(upper), slot.base});
    }
    look.layout.slots.push_back(std::move(slot));
    if (flatten)
      look.homes.emplace_back(openat(state->get(), slots->names()[overlay].c_str(),
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  // One without descriptors cannot be read: anything may be different there.
  for (const Slots* each : {&*slots, &*others})
    for (const std::string& target : each->away()) look.layout.slots.push_back({.target = target});
  look.promote = flatten || (request.flags & kFlagPromote) != 0;
  look.few = (request.flags & kFlagFew) != 0;
  const auto running = ids_.find(request.sandbox);
  if (*request.snapshot == '\0' && running != ids_.end()) look.init = running->second;
  if ((request.flags & kFlagFreeze) != 0 && look.init != 0 &&
      cgroups_.host().version != sys::CgroupVersion::kNone)
    look.cgroup = alive_[running->second].name;
  if (flatten) return look;
  look.answer = fds[3];
  look.question = fds[4];
  look.complaint = fds[5];
  return look;
}

void Server::StartLook(const SpawnRequest& request, std::span<const int> fds) {
  auto look = PrepareLook(request, fds);
  if (!look) return Answer(request, &look.error());
  const auto own = std::ranges::count(looks_ | std::views::values, look->caller.uid);
  if (own >= kMostLooksOfOne || looks_.size() >= kMostLooks) {
    workshop_.ReleaseMask(std::move(look->mask));
    Failure failure{SpawnStage::kPool, "too many at once", EAGAIN, request.sandbox};
    return Answer(request, &failure);
  }
  StartProcess(request, look->cgroup, look->mask, look->caller.uid,
               [&](int) { return BecomeDiffer(*look); });
}

int Server::FdOf(const Look& look, int32_t number) {
  return look.fds[static_cast<size_t>(number - kFirstPassedFd - 3)].get();
}

Outcome<void> Server::FindAllSpecial(Look& look, bool copied) const {
  const bool user_xattr = mode_ == Mode::kRootless;
  Few few;
  for (uint32_t i = 0; i < look.layout.slots.size(); ++i) {
    const LayoutSlot& slot = look.layout.slots[i];
    for (const bool of_other : {false, true}) {
      const int32_t upper = of_other ? slot.other : slot.state;
      if (upper < 0) continue;
      if (auto found = FindSpecial(FdOf(look, upper), i, of_other, user_xattr, copied, look.layout,
                                   look.few ? &few : nullptr);
          !found)
        return found;
    }
  }
  MarkLost(look.layout, [&](int32_t number) { return FdOf(look, number); });
  return {};
}

Outcome<void> Server::MarkAllMade(const Look& look) const {
  if (mode_ != Mode::kRootless || !look.promote) return {};
  for (const LayoutSlot& slot : look.layout.slots)
    if (slot.state >= 0 && slot.base >= 0)
      if (auto done = MarkMade(FdOf(look, slot.state), FdOf(look, slot.base)); !done) return done;
  for (const Look::Present& each : look.present)
    if (auto done = MarkMade(each.upper.get(), FdOf(look, each.base)); !done) return done;
  return {};
}

int Server::BecomeDiffer(Look& look) {
  const auto failed = [&](const char* what, int error) {
    dprintf(look.complaint, "%s: %s\n", what, strerror(error));
    return 1;
  };
  // Before anything of it is read: what is shown is what will be applied.
  if (!look.cgroup.empty())
    if (int error = cgroups_.Freeze(look.cgroup, kFreezeMs); error < 0)
      return failed("freeze", -error);
  if (auto marked = MarkAllMade(look); !marked)
    return failed((marked.error().operation + " " + marked.error().detail).c_str(),
                  marked.error().error);
  auto found = FindAllSpecial(look, look.promote);
  if (!found && look.few && found.error().error == E2BIG) return kTooMuch;
  if (!found) return failed(found.error().operation.c_str(), found.error().error);
  if (look.promote && DependsOnBase(look.layout, look.asked)) return kRenamed;
  const std::string bytes = EncodeLayout(look.layout);
  sys::Fd layout(sys::SealedMemfd("layout", bytes.data(), bytes.size()));
  if (!layout.valid()) return failed("write down what to compare", errno);
  const char* name = look.promote ? "cloche-promote" : "cloche-diff";
  const std::string program = ProgramBeside(name);
  const sys::Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (dup2(null.get(), fd) < 0) return failed("open /dev/null", errno);
  // What is printed by accident does not belong into the daemon's log.
  if (dup2(look.complaint, STDERR_FILENO) < 0) return failed("arrange descriptors", errno);
  look.complaint = STDERR_FILENO;
  std::vector<int> wanted = {look.answer, look.question, layout.get()};
  for (const sys::Fd& each : look.fds) wanted.push_back(each.get());
  if (int error = ArrangeDescriptors(wanted); error < 0)
    return failed("arrange descriptors", -error);
  const bool privileged = mode_ == Mode::kSystem;
  if (int error = look.promote ? sys::BecomeWriter(look.caller, privileged)
                               : sys::BecomeReader(look.caller, privileged);
      error < 0)
    return failed("become who asks", -error);
  const char* arguments[] = {name, nullptr};
  const char* environment[] = {nullptr};
  execve(program.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
  return failed(look.promote ? "start cloche-promote" : "start cloche-diff", errno);
}

void Server::EndLook(const SpawnRequest& request) {
  for (auto& [pid, job] : jobs_) {
    const SpawnOp op = job.request.op;
    const bool flatten = op == SpawnOp::kFlatten;  // it has to clean up
    if ((op != SpawnOp::kLook && op != SpawnOp::kEgress && op != SpawnOp::kSign && !flatten) ||
        job.request.number != request.argument)
      continue;
    if ((request.flags & kFlagFreeze) == 0) {
      sys::PidfdSignal(job.pidfd.get(), flatten ? SIGTERM : SIGKILL);
    } else if (!job.cgroup.empty()) {
      cgroups_.Thaw(job.cgroup);
      job.cgroup.clear();
    }
  }
  Answer(request, nullptr);
}

}  // namespace cloche::spawn
