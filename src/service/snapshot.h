#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sys/fd.h"

namespace cloche::service {

// In the top directory of a subvolume, while there is a snapshot of it. It belongs to nobody a
// sandbox knows, so that none gets in, not even root of one: a snapshot holds what is hidden there.
inline constexpr char kSnapshotsName[] = ".cloche-service-5c40e1a9";

// Data of a service that lies on btrfs, as of one instant. Root's only: nobody else may delete a
// snapshot. A second process deletes them when we are killed; what is left when both are, the next
// one finds.
class HostSnapshots {
 public:
  HostSnapshots() = default;
  HostSnapshots(const HostSnapshots&) = delete;
  HostSnapshots& operator=(const HostSnapshots&) = delete;
  ~HostSnapshots();

  // Whether all of these directories can be had that way. Takes as long as it takes.
  bool Prepare(const std::vector<std::string>& data);
  bool Take();                              // the instant; the service stands still
  std::vector<std::string> Places() const;  // where each directory is now

 private:
  struct Volume {
    std::string path;  // of its top directory
    sys::Fd top;
    std::string name;  // of ours, in `home`
    sys::Fd home;
  };
  struct Piece {
    size_t volume;
    std::string path;  // below its top
  };

  bool AddVolume(const std::string& path);
  bool StartGuard();
  void Remove() const;

  std::vector<Volume> volumes_;
  std::vector<Piece> pieces_;
  sys::Fd alive_;  // its end tells the guard
  pid_t guard_ = 0;
};

}  // namespace cloche::service
