#pragma once

#include <string>
#include <vector>

#include "own_daemon.h"
#include "program.h"

// The cost of the same work without Cloche. A promise in milliseconds holds on one machine; a ratio
// to one of these, measured in the same run, holds on any.
namespace cloche::bench {

// `true` in a bubblewrap copy of the machine. Empty when bwrap is not installed.
Argv BwrapTrue();

// Snapshots of a subvolume in the daemon's pool: one file changed, then the bare ioctl.
class BareSnapshots {
 public:
  explicit BareSnapshots(const OwnDaemon& daemon);
  ~BareSnapshots();
  BareSnapshots(const BareSnapshots&) = delete;
  BareSnapshots& operator=(const BareSnapshots&) = delete;

  // Only root reaches the pool, and only its pool is btrfs.
  bool possible() const { return source_ >= 0; }
  // Milliseconds of the ioctl. The snapshots go with this object, outside of what is measured.
  double Once();

 private:
  int pool_ = -1, source_ = -1;
  std::vector<std::string> made_;
};

// Replaces `target` by a copy of `source` so that a crash leaves the old file or the new one:
// cp, fsync, rename, fsync of the directory, by coreutils from one shell. Milliseconds.
double ReplaceSafely(const std::string& source, const std::string& target);

}  // namespace cloche::bench
