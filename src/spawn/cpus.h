#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spawn/failure.h"

namespace cloche::spawn {

// CPUs to run on, in the kernel's form.
struct CpuSet {
  bool all = true;                  // all that we may use ourselves
  std::vector<unsigned long> mask;  // one bit each
  std::string list;                 // "0-3,8"
};

// The /sys/devices/system/cpu that a sandbox sees: its CPUs, their topology and caches. Copied once
// from the host's, file by file: only the files listed in cpus.cc, and nothing that controls
// anything.
class Cpus {
 public:
  // `scratch` is a directory in our own mount namespace, on a tmpfs.
  explicit Cpus(std::string scratch) : scratch_(std::move(scratch)) {}

  // `count` of those we may use ourselves (0: all of them); the next slot gets the next ones.
  static CpuSet Choose(uint32_t count, uint32_t slot);
  OrFailure<std::string> Tree();                      // the directory, made on first use
  OrFailure<std::string> Online(const CpuSet& cpus);  // the file that replaces its "online"

 private:
  OrFailure<void> MakeTree(const std::string& path) const;

  std::string scratch_;
  bool made_ = false;
};

}  // namespace cloche::spawn
