#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "spawn/server.h"
#include "sys/mount.h"
#include "sys/mount_info.h"
#include "sys/process.h"

// Overlayfs caches the names it has looked up, so an existing mount would not show what a promotion
// or an undo has since done to reality. A process that enters the sandbox's mount namespace drops
// that cache.
namespace cloche::spawn {
namespace {

constexpr unsigned kPatience = 10;  // seconds

}  // namespace

// The sandbox controls the paths there: anything but an overlay is left alone.
OrFailure<void> Server::ForgetBase(int mounts) {
  alarm(kPatience);
  // Its /proc does not know us, so open ours first.
  const sys::Fd self(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!self.valid()) return Failed(SpawnStep::kPool, "open /proc", errno);
  if (int error = sys::EnterMountsOf(mounts); error < 0)
    return Failed(SpawnStep::kPool, "enter mount namespace", error);
  const sys::Fd list(openat(self.get(), "mountinfo", O_RDONLY | O_CLOEXEC));
  std::vector<sys::MountInfo> all;
  if (!list.valid()) return Failed(SpawnStep::kPool, "list mounts", errno);
  if (int error = sys::ReadMountInfo(list.get(), all); error < 0)
    return Failed(SpawnStep::kPool, "list mounts", error);
  const sys::Fd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return Failed(SpawnStep::kPool, "open root", errno);
  for (const sys::MountInfo& each : all) {
    if (each.fs_type != "overlay") continue;
    const std::string below = each.target == "/" ? "." : each.target.substr(1);
    const sys::Fd top(sys::OpenBeneath(root.get(), below.c_str(), O_PATH | O_DIRECTORY, false));
    if (!top.valid() || !sys::IsMountRoot(top.get()) || !sys::IsOverlay(top.get())) continue;
    if (int error = sys::ForgetNames(top.get()); error < 0)
      return Failed(SpawnStep::kPool, "look at reality anew", error, each.target);
  }
  return {};
}

}  // namespace cloche::spawn
