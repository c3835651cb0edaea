#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace cloche::sys {

// Whether any of a set of host paths changed since they were added. Directories are watched by the
// kernel, so asking costs the same for one and for ten thousand; where it cannot (a network file
// system, no watches left) their times are compared one by one. Instances and watches are a stock
// of the user's whole machine: all of ours together take a small part of it.
class PathWatch {
 public:
  // Before the directory is read: a change while it is read counts.
  void AddDirectory(int fd, const std::string& path);
  // Also notices that something else stands at `path`.
  void AddPath(const std::string& path);
  // Something there at all, from now on, is a change.
  void AddAbsent(const std::string& path);
  // Only what decides who may enter: its owner and mode, and that it is still the same one.
  void AddAccess(const std::string& path);
  // Something new by this name: made there, or moved there. What happens in it does not count.
  void AddName(const std::string& path);
  bool Changed() const;

  PathWatch();
  ~PathWatch();
  PathWatch(PathWatch&&) noexcept;
  PathWatch& operator=(PathWatch&&) noexcept;

 private:
  struct Seen {
    std::string path;
    uint64_t inode = 0;
    uint32_t mode = 0, owner = 0, group = 0;
    int64_t mtime_ns = 0;
    bool with_time = true;
    bool operator==(const Seen&) const = default;
  };
  static Seen Look(const std::string& path, bool with_time);

  struct Notify;
  bool MayNotify();
  std::unique_ptr<Notify> notify_;
  std::vector<Seen> seen_;
  std::string named_;  // the directory of the last name: most are neighbours
  int named_watch_ = -1;
};

}  // namespace cloche::sys
