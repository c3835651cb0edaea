#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spawn/failure.h"

namespace cloche::spawn {

// CPUs to run on, as the kernel takes them.
struct CpuSet {
  bool all = true;                  // that we may use ourselves
  std::vector<unsigned long> mask;  // a bit each
  std::string list;                 // "0-3,8"
};

// What a sandbox is shown as /sys/devices/system/cpu: which CPUs there are, how they hang together,
// what they cache. Copied once from the host's, file by file: nothing but what is listed in
// cpus.cc, and nothing that could be switched.
class Cpus {
 public:
  // `scratch` is a directory of our own mount namespace, on a tmpfs.
  explicit Cpus(std::string scratch) : scratch_(std::move(scratch)) {}

  // `count` of those we may use ourselves (0: all of them); the next slot gets the next ones.
  static CpuSet Choose(uint32_t count, uint32_t slot);
  OrFailure<std::string> Tree();  // the directory; made when first asked for
  OrFailure<std::string> Online(
      const CpuSet& cpus);  // the file that takes the place of its "online"

 private:
  OrFailure<void> MakeTree(const std::string& path) const;

  std::string scratch_;
  bool made_ = false;
};

}  // namespace cloche::spawn
