#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "spawn/renamed.h"
#include "spawn/server.h"
#include "sys/directory.h"
#include "sys/message.h"
#include "sys/mount.h"
#include "sys/process.h"

// Before a promotion moves the base away from under renamed directories, copies what they show of
// it into the upper, through overlayfs itself. In a running sandbox that is its own overlay, so
// that the kernel notices; otherwise one is mounted temporarily.
namespace cloche::spawn {
namespace {

constexpr const char* kWork = "flatten";

volatile sig_atomic_t cancelled = 0;

// The root of the sandbox's own overlay at `target`. Its processes may have moved the directory
// above a mount: then something else is there, or nothing.
OrFailure<sys::Fd> OverlayInside(pid_t init, const std::string& target) {
  const std::string path = "/proc/" + std::to_string(init) + "/root";
  const sys::Fd root(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return Failed(SpawnStep::kPool, "look inside", errno, target);
  const std::string below = target == "/" ? "." : target.substr(1);
  sys::Fd view(sys::OpenBeneath(root.get(), below.c_str(), O_RDONLY | O_DIRECTORY, false));
  if (!view.valid()) return Failed(SpawnStep::kPool, "look inside", view.get(), target);
  if (!sys::IsMountRoot(view.get()) || !sys::IsOverlay(view.get()))
    return Failed(SpawnStep::kPool, "look inside", EXDEV, target);
  return view;
}

// Owners are the same on disk and inside, so it needs no id map.
OrFailure<sys::Fd> PassingOverlay(int home, int base, int mask, int upper) {
  (void)sys::RemoveTree(home, kWork);
  const bool made = mkdirat(home, kWork, 0700) == 0;
  const sys::Fd work(made ? openat(home, kWork, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
  if (!work.valid()) return Failed(SpawnStep::kPool, "make work directory", errno);
  sys::OverlayLayers layers;
  layers.lower = base;
  layers.mask = mask;
  layers.upper = upper;
  layers.work = work.get();
  const char* failed = "";
  sys::Fd view(sys::MakeOverlay(layers, sys::kMountNoSuid | sys::kMountNoDev, failed));
  if (!view.valid()) return Failed(SpawnStep::kOverlay, failed, view.get());
  return view;
}

// The renamed directories of one overlay; renames within one of them are copied along with it.
struct Renamed {
  sys::Fd view;
  std::vector<std::string> paths;

  void Add(const std::string& path) {
    const auto holds = [&](const std::string& other) { return path.starts_with(other + "/"); };
    if (std::ranges::none_of(paths, holds)) paths.push_back(path);
  }
};

}  // namespace

void Server::StartFlatten(const SpawnRequest& request, std::span<const int> fds) {
  if (auto free = CheckUndisturbed(request); !free) return Answer(request, &free.error());
  if (fds.size() != 3) return Refuse(request, {SpawnStep::kPlan, "descriptors", EBADMSG, ""});
  const auto asked = BodyOf<ask::Flatten>(request);
  const bool freeze = asked.freeze != 0;
  auto opened = OpenState(request, {Use::kFlatten, asked.snapshot.str(), "", freeze, freeze}, fds);
  if (!opened) return Refuse(request, opened.error());
  StartProcess(request, opened->cgroup, opened->mask, std::nullopt, [&](int answer) {
    signal(SIGTERM, [](int) { cancelled = 1; });
    SpawnReply reply = ReplyTo(request);
    if (auto done = Flatten(*opened); !done) reply = FailureReply(request, done.error());
    return sys::SendMessage(answer, &reply, sizeof reply) > 0 ? 0 : 1;
  });
}

// New files inside first belong to the sandbox's root: our own id means nothing there.
OrFailure<void> Server::Flatten(OpenedState& opened) const {
  if (!opened.cgroup.empty())
    if (int error = cgroups_.Freeze(opened.cgroup, kFreezeMs); error < 0)
      return Failed(SpawnStep::kCgroup, "freeze", error);
  if (auto found = FindAllSpecial(opened, false, false); !found) return found;
  std::vector<Renamed> all;
  for (uint32_t i = 0; i < opened.layout.slots.size(); ++i) {
    const LayoutSlot& slot = opened.layout.slots[i];
    Renamed renamed;
    for (const std::string& path : DependentOnBase(opened.layout, i, opened.asked))
      renamed.Add(path);
    if (renamed.paths.empty()) continue;
    auto view = opened.init != 0 ? OverlayInside(opened.init, slot.target)
                                 : PassingOverlay(opened.homes[i].get(), FdOf(opened, slot.base),
                                                  slot.mask < 0 ? -1 : FdOf(opened, slot.mask),
                                                  FdOf(opened, slot.state));
    if (!view) return std::unexpected(view.error());
    renamed.view = std::move(*view);
    all.push_back(std::move(renamed));
  }
  std::set<FileNumber> in_use;
  if (opened.init != 0) {
    in_use = WorkingDirectories(opened.init);
    const uint32_t id = alive_.at(opened.init).uid_base;
    if (int error = sys::SetFsIds(id, id); error < 0)
      return Failed(SpawnStep::kPool, "take the sandbox's id", error);
  }
  OrFailure<void> done;
  for (const Renamed& each : all) {
    LinkedFiles linked;
    for (const std::string& path : each.paths)
      if (done) done = CopyRenamed(each.view.get(), in_use, path, linked, cancelled);
  }
  all.clear();
  if (opened.init == 0)
    for (const sys::Fd& home : opened.homes) (void)sys::RemoveTree(home.get(), kWork);
  return done;
}

}  // namespace cloche::spawn
