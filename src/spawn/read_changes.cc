#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>

#include "base/state_layout.h"
#include "spawn/become_program.h"
#include "spawn/check.h"
#include "spawn/mark_new.h"
#include "spawn/renamed.h"
#include "spawn/server.h"
#include "spawn/slots.h"
#include "spawn/special.h"
#include "sys/process.h"

// Passes states of sandboxes to cloche-diff and cloche-promote: the descriptors they need, the
// caller's rights, and what only root can read from an upper.
namespace cloche::spawn {
namespace {

constexpr ptrdiff_t kMostReadersOfOne = 32;
constexpr size_t kMostReaders = 256;
constexpr size_t kMostPathBytes = 16 << 20;

// Absolute paths, each followed by a NUL.
OrFailure<std::vector<std::string>> ReadPaths(int memory) {
  std::string text;
  if (int error = sys::ReadSealed(memory, text, kMostPathBytes); error < 0)
    return Failed(SpawnStep::kPlan, "read paths", error);
  std::vector<std::string> paths;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\0', at);
    if (end == text.npos || text[at] != '/') return Failed(SpawnStep::kPlan, "read paths", EINVAL);
    paths.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

}  // namespace

OrFailure<Server::OpenedState> Server::OpenState(const SpawnRequest& request, const Wanted& wanted,
                                                 std::span<const int> fds) {
  auto plan = ReadPlan(fds[0]);
  if (!plan) return std::unexpected(plan.error());
  OpenedState opened;
  if (auto known = IdentifyClient(fds[1], opened.caller); !known)
    return std::unexpected(known.error());
  if (auto checked = CheckPlan(*plan, opened.caller, mode_); !checked)
    return std::unexpected(checked.error());
  if (auto seen = CheckSources(plan->spec); !seen) return std::unexpected(seen.error());
  auto asked = ReadPaths(fds[2]);
  if (!asked) return std::unexpected(asked.error());
  opened.asked = std::move(*asked);
  for (const std::string& snapshot : {wanted.snapshot, wanted.against})
    if (!snapshot.empty() && !IsSnapshotId(snapshot))
      return Failed(SpawnStep::kPlan, "snapshot id", EINVAL, snapshot);
  const auto running = ids_.find(request.sandbox);
  const bool runs = wanted.snapshot.empty() && running != ids_.end();
  if (runs && !wanted.live) return Failed(SpawnStep::kPlan, "sandbox runs", EBUSY, request.sandbox);
  auto state = !wanted.snapshot.empty() ? store_.OpenSnapshot(wanted.snapshot, opened.caller.uid)
                                        : store_.OpenKept(request.sandbox, opened.caller.uid);
  if (!state) return std::unexpected(state.error());
  sys::Fd other;
  if (!wanted.against.empty()) {
    auto against = store_.OpenSnapshot(wanted.against, opened.caller.uid);
    if (!against) return std::unexpected(against.error());
    other = std::move(*against);
    opened.layout.against_other = true;
  }
  auto view = workshop_.View(plan->spec);
  if (!view) return std::unexpected(view.error());
  opened.mask = view->mask;
  const auto add = [&](int dir, const std::string& path) {
    sys::Fd fd(openat(dir, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) return -1;
    opened.fds.push_back(std::move(fd));
    return kFirstPassedFd + 3 + static_cast<int>(opened.fds.size()) - 1;
  };
  const auto slots = Slots::Of(state->get(), plan->spec, view->sources);
  if (!slots) return std::unexpected(slots.error());
  const bool marks = mode_ == Mode::kRootless && wanted.use == Use::kPromote;
  sys::Fd present;
  std::vector<std::string> present_names;
  if (marks && !wanted.snapshot.empty()) {
    auto kept = store_.OpenKept(request.sandbox, opened.caller.uid);
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
    // A read-only one may have been writable when it was changed.
    if (!view->sources[i].valid() || !view->sources[i].directory) continue;
    LayoutSlot slot;
    slot.target = op.target;
    // A missing upper was never mounted, so nothing was changed in it. Any other failure, or a mask
    // that cannot be opened, would show too little or too much.
    for (const bool of_other : {false, true}) {
      const std::string& name = (of_other ? *others : *slots).names()[overlay];
      if (name.empty()) continue;
      int32_t& upper = of_other ? slot.other : slot.state;
      upper = add((of_other ? other : *state).get(), name + "/u");
      if (upper < 0 && errno != ENOENT)
        return Failed(SpawnStep::kPool, "open upper", errno, op.target);
    }
    if (slot.state < 0 && slot.other < 0) continue;
    slot.base = add(view->sources[i].get(), ".");
    if (slot.base < 0) return Failed(SpawnStep::kMounts, "open base", errno, op.source);
    const bool masked = view->mask->HasLayer(overlay);
    if (masked) slot.mask = add(view->mask->root(), std::to_string(overlay));
    if (masked && slot.mask < 0) return Failed(SpawnStep::kFiles, "open mask", errno, op.target);
    if (overlay < present_names.size() && !present_names[overlay].empty()) {
      const std::string name = present_names[overlay] + "/u";
      sys::Fd upper(
          openat(present.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!upper.valid() && errno != ENOENT)
        return Failed(SpawnStep::kPool, "open upper", errno, op.target);
      if (upper.valid()) opened.present.push_back({std::move(upper), slot.base});
    }
    opened.layout.slots.push_back(std::move(slot));
    if (wanted.use == Use::kFlatten)
      opened.homes.emplace_back(openat(state->get(), slots->names()[overlay].c_str(),
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  // A slot without descriptors cannot be read: anything may differ there.
  for (const Slots* each : {&*slots, &*others})
    for (const std::string& target : each->away())
      opened.layout.slots.push_back({.target = target});
  if (runs) opened.init = running->second;
  if (wanted.freeze && runs && cgroups_.host().version != sys::CgroupVersion::kNone)
    opened.cgroup = alive_[running->second].name;
  return opened;
}

void Server::StartDiffOrPromote(const SpawnRequest& request, const Wanted& wanted,
                                std::span<const int> fds) {
  if (fds.size() != 6) return Refuse(request, {SpawnStep::kPlan, "descriptors", EBADMSG, ""});
  auto opened = OpenState(request, wanted, fds);
  if (!opened) return Refuse(request, opened.error());
  if (HasTooManyReaders(opened->caller.uid)) {
    workshop_.ReleaseMask(std::move(opened->mask));
    return Refuse(request, {SpawnStep::kPool, "too many at once", EAGAIN, request.sandbox});
  }
  const Talk talk{fds[3], fds[4], fds[5]};
  StartProcess(request, opened->cgroup, opened->mask, opened->caller.uid,
               [&](int) { return BecomeDiffOrPromote(*opened, wanted, talk); });
}

// It needs nothing from the sandbox; only the caller's rights matter.
void Server::StartBirthNote(const SpawnRequest& request, std::span<const int> fds) {
  if (fds.size() != 4) return Refuse(request, {SpawnStep::kPlan, "descriptors", EBADMSG, ""});
  sys::PeerIdentity caller;
  if (auto known = IdentifyClient(fds[0], caller); !known) return Refuse(request, known.error());
  if (HasTooManyReaders(caller.uid))
    return Refuse(request, {SpawnStep::kPool, "too many at once", EAGAIN, request.sandbox});
  const Talk talk{fds[1], fds[2], fds[3]};
  StartProcess(request, "", nullptr, caller.uid,
               [&](int) { return BecomeHelper("cloche-promote", caller, talk, {}); });
}

bool Server::HasTooManyReaders(uid_t uid) const {
  return std::ranges::count(readers_ | std::views::values, uid) >= kMostReadersOfOne ||
         readers_.size() >= kMostReaders;
}

int Server::FdOf(const OpenedState& opened, int32_t number) {
  return opened.fds[static_cast<size_t>(number - kFirstPassedFd - 3)].get();
}

OrFailure<void> Server::FindAllSpecial(OpenedState& opened, bool copied, bool few_only) const {
  const bool user_xattr = mode_ == Mode::kRootless;
  Few few;
  for (uint32_t i = 0; i < opened.layout.slots.size(); ++i) {
    const LayoutSlot& slot = opened.layout.slots[i];
    for (const bool of_other : {false, true}) {
      const int32_t upper = of_other ? slot.other : slot.state;
      if (upper < 0) continue;
      if (auto found = FindSpecial(FdOf(opened, upper), i, of_other, user_xattr, copied,
                                   opened.layout, few_only ? &few : nullptr);
          !found)
        return found;
    }
  }
  MarkLost(opened.layout, [&](int32_t number) { return FdOf(opened, number); });
  return {};
}

OrFailure<void> Server::MarkAllNew(const OpenedState& opened) const {
  if (mode_ != Mode::kRootless) return {};
  for (const LayoutSlot& slot : opened.layout.slots)
    if (slot.state >= 0 && slot.base >= 0)
      if (auto done = MarkNewDirectories(FdOf(opened, slot.state), FdOf(opened, slot.base)); !done)
        return done;
  for (const OpenedState::Present& each : opened.present)
    if (auto done = MarkNewDirectories(each.upper.get(), FdOf(opened, each.base)); !done)
      return done;
  return {};
}

int Server::BecomeDiffOrPromote(OpenedState& opened, const Wanted& wanted, const Talk& talk) {
  const bool promotes = wanted.use == Use::kPromote;
  // Before anything is read: what is shown is what will be applied.
  if (!opened.cgroup.empty())
    if (int error = cgroups_.Freeze(opened.cgroup, kFreezeMs); error < 0)
      return Complain(talk.complaint, "freeze", -error);
  if (promotes)
    if (auto marked = MarkAllNew(opened); !marked)
      return Complain(talk.complaint, marked.error().operation + " " + marked.error().detail,
                      marked.error().error);
  auto found = FindAllSpecial(opened, promotes, wanted.few);
  if (!found && wanted.few && found.error().error == E2BIG) return kTooMuch;
  if (!found) return Complain(talk.complaint, found.error().operation, found.error().error);
  if (promotes && DependsOnBase(opened.layout, opened.asked)) return kRenamed;
  const std::string bytes = EncodeLayout(opened.layout);
  sys::Fd layout(sys::SealedMemfd("layout", bytes.data(), bytes.size()));
  if (!layout.valid()) return Complain(talk.complaint, "write down what to compare", errno);
  std::vector<int> passed = {layout.get()};
  for (const sys::Fd& each : opened.fds) passed.push_back(each.get());
  return BecomeHelper(promotes ? "cloche-promote" : "cloche-diff", opened.caller, talk, passed);
}

int Server::BecomeHelper(const char* name, const sys::PeerIdentity& caller, const Talk& talk,
                         std::span<const int> passed) const {
  std::vector<int> fds = {talk.answer, talk.question};
  fds.insert(fds.end(), passed.begin(), passed.end());
  return BecomeProgram(name, fds, talk.complaint, [&] {
    const bool privileged = mode_ == Mode::kSystem;
    return strcmp(name, "cloche-promote") == 0 ? sys::BecomeWriter(caller, privileged)
                                               : sys::BecomeReader(caller, privileged);
  });
}

}  // namespace cloche::spawn
