#pragma once

#include <stdint.h>

#include <string>
#include <vector>

namespace cloche::sys {

// One line of /proc/PID/mountinfo, unescaped.
struct MountInfo {
  uint64_t id = 0;
  std::string device;   // "major:minor" of its filesystem
  std::string root;     // the mounted directory of that filesystem
  std::string target;   // where
  std::string options;  // of this mount
  std::string fs_type;
  std::string source;
};

std::vector<MountInfo> ParseMountInfo(const std::string& text);
// The mounts of the namespace in which `file` was opened as /proc/self/mountinfo, wherever the
// reader is now. 0 or -errno.
int ReadMountInfo(int file, std::vector<MountInfo>& mounts);

}  // namespace cloche::sys
