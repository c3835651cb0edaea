#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace cloche::sys {

// Tells whether any of a set of host paths changed since they were added. The kernel watches
// directories, so asking costs the same for one and for ten thousand; where it cannot (a network
// filesystem, no watches left), times are compared one by one. Instances and watches are limited
// per user for the whole machine: all of ours together take a small part.
class PathWatch {
 public:
  // Add the directory before reading it: changes while it is read then count.
  void AddDirectory(int fd, const std::string& path);
  // Also notices if something else takes its place at `path`.
  void AddPath(const std::string& path);
  // From now on, anything there is a change.
  void AddAbsent(const std::string& path);
  // Only what decides who may enter: its owner and mode, and that it is still the same one.
  void AddAccess(const std::string& path);
  // Anything newly created or moved there under this name. Changes inside it do not count.
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
