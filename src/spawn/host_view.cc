#include "spawn/host_view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "sys/mount.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

constexpr int kMostRounds = 8;  // mounts below one that we drop or fetch appear afterwards

bool IsAtOrBelow(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

bool Before(const sys::MountInfo& a, const sys::MountInfo& b) {
  return std::tie(a.target, a.device, a.root) < std::tie(b.target, b.device, b.root);
}

// Those in `all` without an equal in `others`; both are sorted.
std::vector<sys::MountInfo> Without(const std::vector<sys::MountInfo>& all,
                                    const std::vector<sys::MountInfo>& others) {
  std::vector<sys::MountInfo> rest;
  std::ranges::set_difference(all, others, std::back_inserter(rest), Before);
  return rest;
}

size_t Depth(const sys::MountInfo& mount) {
  return static_cast<size_t>(std::ranges::count(mount.target, '/'));
}

}  // namespace

HostView::HostView()
    : host_mounts_(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
      host_namespace_(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)),
      host_root_(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

void HostView::Enter(bool privileged, std::vector<std::string> own_places) {
  privileged_ = privileged;
  own_places_ = std::move(own_places);
  own_namespace_ = sys::Fd(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  own_root_ = sys::Fd(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool HostView::Changed() {
  pollfd mounts{host_mounts_.get(), POLLPRI, 0};
  return poll(&mounts, 1, 0) != 0;  // the kernel reports each change once
}

bool HostView::IsOurs(const std::string& target) const {
  return std::ranges::any_of(own_places_,
                             [&](const auto& place) { return IsAtOrBelow(target, place); });
}

const std::string* HostView::DiffersAt(const std::string& path) const {
  const auto found = std::ranges::find_if(
      different_, [&](const std::string& target) { return IsAtOrBelow(path, target); });
  return found == different_.end() ? nullptr : &*found;
}

void HostView::Follow() {
  for (int round = 0; round < kMostRounds; ++round)
    if (!FollowOnce()) return;
}

// Whether something was done, so that there may be more to do.
bool HostView::FollowOnce() {
  std::vector<sys::MountInfo> host, own;
  sys::Fd file(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (sys::ReadMountInfo(host_mounts_.get(), host) < 0 || sys::ReadMountInfo(file.get(), own) < 0) {
    different_ = {"/"};  // unknown, so nothing is built
    return false;
  }
  for (auto* list : {&host, &own}) {
    std::erase_if(*list, [&](const auto& mount) { return IsOurs(mount.target); });
    std::ranges::sort(*list, Before);
  }
  std::vector<sys::MountInfo> fresh = Without(host, own), gone = Without(own, host);
  different_.clear();
  bool done = false;
  std::ranges::stable_sort(gone, std::ranges::greater(), Depth);
  for (const sys::MountInfo& mount : gone) {
    if (Drop(mount))
      done = true;
    else
      different_.push_back(mount.target);
  }
  std::ranges::stable_sort(fresh, {}, Depth);
  for (const sys::MountInfo& mount : fresh) {
    // A mount covered by another is invisible.
    sys::Fd seen(sys::OpenBeneath(host_root_.get(), mount.target.c_str() + 1, O_PATH, false));
    if (!seen.valid() || sys::MountIdOf(seen.get()) != mount.id) continue;
    if (Fetch(mount))
      done = true;
    else
      different_.push_back(mount.target);
  }
  return done;
}

bool HostView::Drop(const sys::MountInfo& mount) {
  if (!privileged_ || mount.target == "/") return false;
  const sys::Fd top(sys::OpenWithoutSymlinks(mount.target.c_str(), O_PATH));
  return top.valid() && sys::MountIdOf(top.get()) == mount.id && sys::DetachMountOf(top.get()) == 0;
}

bool HostView::Fetch(const sys::MountInfo& mount) {
  if (!privileged_ || mount.target == "/") return false;
  sys::Fd source(sys::OpenBeneath(host_root_.get(), mount.target.c_str() + 1, O_PATH, false));
  if (!source.valid() || sys::MountIdOf(source.get()) != mount.id) return false;
  // The kernel clones only mounts of the namespace we are in.
  if (sys::EnterMountsOf(host_namespace_.get()) < 0) return false;
  sys::Fd clone(sys::OpenTree(source.get(), "", false));
  // Entering a namespace also switches to its root, which need not be ours.
  if (sys::EnterMountsOf(own_namespace_.get()) < 0 || fchdir(own_root_.get()) < 0 ||
      chroot(".") < 0 || chdir("/") < 0)
    abort();
  // Our mounts must never propagate to the host.
  if (!clone.valid() || sys::MakeSlave(clone.get()) < 0) return false;
  sys::Fd target(sys::OpenWithoutSymlinks(mount.target.c_str(), O_PATH));
  return target.valid() && sys::AttachMountAt(clone.get(), target.get()) == 0;
}

}  // namespace cloche::spawn
