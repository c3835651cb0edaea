#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sys/fd.h"

namespace cloche::service {

// A directory at the top of a subvolume, while there is a snapshot of it. Its owner is unknown in
// every sandbox, so that nobody inside gets in, not even root: a snapshot holds files that are
// hidden there.
inline constexpr char kSnapshotsName[] = ".cloche-service-5c40e1a9";

// Data of a service that lies on btrfs, as of one instant. For root only: nobody else may delete a
// snapshot. A second process deletes them when we are killed; if both are killed, the next run
// finds the rest.
class HostSnapshots {
 public:
  HostSnapshots() = default;
  HostSnapshots(const HostSnapshots&) = delete;
  HostSnapshots& operator=(const HostSnapshots&) = delete;
  ~HostSnapshots();

  // Whether all of these directories can be copied that way. May take long.
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
