#pragma once

#include <string>
#include <vector>

#include "sys/fd.h"
#include "sys/mount_info.h"

namespace cloche::spawn {

// Spawn has a mount namespace of its own. What the host mounts and unmounts later arrives there by
// itself only where the host shares its mounts, as systemd makes it. Elsewhere (a container,
// another init, a private subtree) we follow: fetch what is new, let go of what is gone. Without
// privileges over the host's namespace we can only tell.
class HostView {
 public:
  HostView();  // in the host's mount namespace
  // In our own one, of which everything at or below these places is ours alone.
  void Enter(bool privileged, std::vector<std::string> own_places);

  int fd() const { return host_mounts_.get(); }  // readable with POLLPRI after a change
  bool Changed();                                // since the last call
  void Follow();

  // The mount at or above `path` that is the host's and not ours, or ours and no longer the
  // host's; nullptr: none.
  const std::string* DiffersAt(const std::string& path) const;

 private:
  bool IsOurs(const std::string& target) const;
  bool FollowOnce();
  bool Drop(const sys::MountInfo& mount);
  bool Fetch(const sys::MountInfo& mount);

  sys::Fd host_mounts_, host_namespace_, host_root_;
  sys::Fd own_namespace_, own_root_;
  bool privileged_ = false;
  std::vector<std::string> own_places_;
  std::vector<std::string> different_;
};

}  // namespace cloche::spawn
