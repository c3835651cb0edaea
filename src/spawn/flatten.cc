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

// Before a promotion moves the base away from under renamed directories: what they show of it is
// copied into the upper, by overlayfs itself. Where the sandbox runs that is its own overlay, so
// that the kernel knows of it; else one is mounted for a moment.
namespace cloche::spawn {
namespace {

constexpr const char* kWork = "flatten";

volatile sig_atomic_t cancelled = 0;

// The root of the sandbox's own overlay at `target`. Its processes may have moved the directory
// above a mount: then something else is there, or nothing.
Outcome<sys::Fd> OverlayInside(pid_t init, const std::string& target) {
  const std::string path = "/proc/" + std::to_string(init) + "/root";
  const sys::Fd root(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return Failed(SpawnStage::kPool, "look inside", errno, target);
  const std::string below = target == "/" ? "." : target.substr(1);
  sys::Fd view(sys::OpenBeneath(root.get(), below.c_str(), O_RDONLY | O_DIRECTORY, false));
  if (!view.valid()) return Failed(SpawnStage::kPool, "look inside", view.get(), target);
  if (!sys::IsMountRoot(view.get()) || !sys::IsOverlay(view.get()))
    return Failed(SpawnStage::kPool, "look inside", EXDEV, target);
  return view;
}

// Owners are the same on disk and inside, so that it needs no id map.
Outcome<sys::Fd> PassingOverlay(int home, int base, int mask, int upper) {
  (void)sys::RemoveTree(home, kWork);
  const bool made = mkdirat(home, kWork, 0700) == 0;
  const sys::Fd work(made ? openat(home, kWork, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
  if (!work.valid()) return Failed(SpawnStage::kPool, "make work directory", errno);
  sys::OverlayLayers layers;
  layers.lower = base;
  layers.mask = mask;
  layers.upper = upper;
  layers.work = work.get();
  const char* failed = "";
  sys::Fd view(sys::MakeOverlay(layers, sys::kMountNoSuid | sys::kMountNoDev, failed));
  if (!view.valid()) return Failed(SpawnStage::kOverlay, failed, view.get());
  return view;
}

// The renamed directories of one overlay; what was renamed in one of them goes along with it.
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
  auto look = PrepareLook(request, fds);
  if (!look) return Answer(request, &look.error());
  StartProcess(request, look->cgroup, look->mask, std::nullopt, [&](int answer) {
    signal(SIGTERM, [](int) { cancelled = 1; });
    SpawnReply reply = ReplyTo(request);
    if (auto done = Flatten(*look); !done) reply = FailureReply(request, done.error());
    return sys::SendMessage(answer, &reply, sizeof reply) > 0 ? 0 : 1;
  });
}

// What is made inside belongs to the sandbox's root at first: our own id means nothing there.
Outcome<void> Server::Flatten(Look& look) const {
  if (!look.cgroup.empty())
    if (int error = cgroups_.Freeze(look.cgroup, kFreezeMs); error < 0)
      return Failed(SpawnStage::kCgroup, "freeze", error);
  if (auto found = FindAllSpecial(look, false); !found) return found;
  std::vector<Renamed> all;
  for (uint32_t i = 0; i < look.layout.slots.size(); ++i) {
    const LayoutSlot& slot = look.layout.slots[i];
    Renamed renamed;
    for (const std::string& path : DependentOnBase(look.layout, i, look.asked)) renamed.Add(path);
    if (renamed.paths.empty()) continue;
    auto view = look.init != 0 ? OverlayInside(look.init, slot.target)
                               : PassingOverlay(look.homes[i].get(), FdOf(look, slot.base),
                                                slot.mask < 0 ? -1 : FdOf(look, slot.mask),
                                                FdOf(look, slot.state));
    if (!view) return std::unexpected(view.error());
    renamed.view = std::move(*view);
    all.push_back(std::move(renamed));
  }
  std::set<FileNumber> in_use;
  if (look.init != 0) {
    in_use = WorkingDirectories(look.init);
    const uint32_t id = alive_.at(look.init).uid_base;
    if (int error = sys::SetFsIds(id, id); error < 0)
      return Failed(SpawnStage::kPool, "take the sandbox's id", error);
  }
  Outcome<void> done;
  for (const Renamed& each : all)
    for (const std::string& path : each.paths)
      if (done) done = CopyRenamed(each.view.get(), in_use, path, cancelled);
  all.clear();
  if (look.init == 0)
    for (const sys::Fd& home : look.homes) (void)sys::RemoveTree(home.get(), kWork);
  return done;
}

}  // namespace cloche::spawn
