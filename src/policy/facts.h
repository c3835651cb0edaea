#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/launch_plan.h"

namespace cloche {

// Facts about the machine and the caller. They are gathered elsewhere, so that a plan is a pure
// function of facts and request.

struct HostMount {
  std::string target;  // unescaped, as seen by the caller
  std::string source;
  std::string fs_type;
  bool read_only = false;
  bool is_file = false;  // a single file is bound there, as containers do with /etc/hosts
  std::string device{};  // of its file system, "major:minor"; "" = not known
  std::string root{};    // the directory of that file system which is mounted
};

struct UserFacts {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  std::string name;
  std::string home;  // of the password database, not $HOME
  bool operator==(const UserFacts&) const = default;
};

enum class Cgroup : uint8_t { kNone, kV1, kV2 };  // the one we may make children in

struct HostFacts {
  Mode mode = Mode::kSystem;
  int kernel_major = 0;
  int kernel_minor = 0;
  std::string hostname;
  std::vector<HostMount> mounts;
  std::vector<std::string> root_directories;  // "/etc", "/usr", ...: no symlinks
  std::vector<std::string> sockets;           // rootless: files somebody listens at
  bool sockets_known = true;                  // false: there may be others
  std::vector<std::string> other_homes;       // of people (and root), never the caller's own
  std::vector<std::string> cloche_paths;      // state and runtime directories
  uint64_t memory_bytes = 0;
  int cpus = 0;
  uint64_t usual_files = 0;  // that programs of whoever started us may open
  uint64_t most_files = 0;   // ... if they ask for more; 0 = not known
  Cgroup cgroup = Cgroup::kNone;
  bool apparmor_restricts_userns = false;  // kernel.apparmor_restrict_unprivileged_userns
  bool userns_disabled = false;            // kernel.unprivileged_userns_clone or user.max_* is 0
  bool in_container = false;

  bool KernelAtLeast(int major, int minor) const {
    return kernel_major > major || (kernel_major == major && kernel_minor >= minor);
  }
};

}  // namespace cloche
