#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cloche::service {

struct HostProcess {
  int pid = 0;
  int parent = 0;
  uint64_t started = 0;  // in ticks since boot: with the pid, it names one process for good
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
};

// The processes of this machine at one moment, as /proc shows them.
class ProcessTable {
 public:
  static ProcessTable Read();

  const HostProcess* Find(int pid) const;
  std::vector<int> Tree(int pid) const;  // it and all its descendants, parents first
  const std::map<int, HostProcess>& all() const { return processes_; }

 private:
  std::map<int, HostProcess> processes_;
};

// "" when it cannot be read.
std::string ReadOf(int pid, const char* file);
std::string LinkOf(int pid, const std::string& file);
std::vector<std::string> ListOf(int pid, const char* directory);
std::vector<std::string> SplitAtNul(const std::string& text);

}  // namespace cloche::service
