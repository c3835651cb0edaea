#pragma once

#include <string>
#include <vector>

#include "sys/fd.h"
#include "sys/mount_info.h"

namespace cloche::spawn {

// Spawn has its own mount namespace. Later mounts and unmounts on the host propagate there only if
// the host shares its mounts, as systemd does. Otherwise (a container, another init, a private
// subtree) we follow: fetch what is new, drop what is gone. Without privileges over the host's
// namespace we can only report the difference.
class HostView {
 public:
  HostView();  // call in the host's mount namespace
  // Call in our own namespace, in which everything at or below these places is ours alone.
  void Enter(bool privileged, std::vector<std::string> own_places);

  int fd() const { return host_mounts_.get(); }  // readable with POLLPRI after a change
  bool Changed();                                // since the last call
  void Follow();

  // The mount at or above `path` that only the host has, or that only we still have; nullptr: none.
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
