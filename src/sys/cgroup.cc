#include "sys/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>

#include <vector>

#include "sys/directory.h"
#include "sys/file.h"

namespace cloche::sys {
namespace {

constexpr uint64_t kMostPauseUs = 2000;
constexpr uint64_t kCpuPeriodUs = 100000;
constexpr uint64_t kTcpShare = 8;  // of the memory limit, v1
constexpr uint64_t kLeastTcp = 4 << 20;
constexpr int kMostSweeps = 200;
constexpr const char* kCommon = "all";  // v1: the cpuset of all sandboxes

int Put(const std::string& path, const std::string& value) {
  return WriteFileAt(AT_FDCWD, path.c_str(), value);
}

bool Has(const std::string& list, const std::string& word) {
  return (" " + list + " ").find(" " + word + " ") != std::string::npos;
}

std::string ReadLine(const std::string& path) {
  std::string text;
  if (ReadFileAt(AT_FDCWD, path.c_str(), text) < 0) return "";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

struct MountLine {
  std::string target, type, options;
};

std::vector<MountLine> CgroupMounts() {
  std::vector<MountLine> found;
  std::string text;
  ReadFileAt(AT_FDCWD, "/proc/self/mounts", text, 4 << 20);
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::vector<std::string> words;
    size_t word = at;
    while (word < end) {
      size_t space = std::min(text.find(' ', word), end);
      words.push_back(text.substr(word, space - word));
      word = space + 1;
    }
    if (words.size() >= 4 && words[2].starts_with("cgroup"))
      found.push_back({words[1], words[2], words[3]});
    at = end + 1;
  }
  return found;
}

std::string OwnUnifiedPath() {
  std::string text;
  ReadFileAt(AT_FDCWD, "/proc/self/cgroup", text);
  size_t at = text.starts_with("0::") ? 0 : text.find("\n0::");
  if (at == std::string::npos) return "/";
  at = text.find("::", at) + 2;
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

CgroupHost FindCgroups(bool privileged) {
  CgroupHost host;
  for (const MountLine& mount : CgroupMounts()) {
    std::string options = "," + mount.options + ",";
    auto has = [&](const char* name) {
      return options.find("," + std::string(name) + ",") != std::string::npos;
    };
    if (mount.type == "cgroup2") host.unified = mount.target;
    if (mount.type != "cgroup") continue;
    if (has("memory")) host.memory = mount.target;
    if (has("pids")) host.pids = mount.target;
    if (has("cpu")) host.cpu = mount.target;
    if (has("cpuacct")) host.cpuacct = mount.target;
    if (has("cpuset")) host.cpuset = mount.target;
  }
  if (host.unified.empty()) {
    host.why_not = "no cgroup2 file system is mounted";
    return host;
  }
  // As root: beside the init system's own groups. Otherwise only where systemd delegated.
  std::string parent = privileged ? "" : OwnUnifiedPath();
  if (parent == "/") parent.clear();
  const bool ours =
      privileged ||
      (access((host.unified + parent + "/cgroup.subtree_control").c_str(), W_OK) == 0 &&
       access((host.unified + parent).c_str(), W_OK) == 0);
  std::string missing;
  const std::string controllers = ReadLine(host.unified + parent + "/cgroup.controllers");
  for (const char* controller : {"memory", "pids", "cpu"})
    if (!Has(controllers, controller))
      missing += std::string(missing.empty() ? "" : ", ") + controller;
  if (ours && missing.empty()) {
    host.version = CgroupVersion::kV2;
    host.parent = parent;
    return host;
  }
  if (privileged && !host.memory.empty() && !host.pids.empty() && !host.cpu.empty()) {
    host.version = CgroupVersion::kV1;
    return host;
  }
  host.why_not = privileged ? "these controllers are not available: " + missing
                 : ours     ? "the delegated cgroup lacks controllers: " + missing
                            : "no cgroup was delegated to this user";
  return host;
}

namespace {

std::vector<std::string> Hierarchies(const CgroupHost& host) {
  if (host.version == CgroupVersion::kV2) return {host.unified};
  std::vector<std::string> all = {host.memory, host.pids, host.cpu};
  if (!host.cpuacct.empty() && host.cpuacct != host.cpu) all.push_back(host.cpuacct);
  all.push_back(host.unified);
  return all;
}

int LimitMemory(CgroupVersion version, const std::string& dir, uint64_t memory,
                std::string& failed) {
  auto put = [&](const char* file, uint64_t value) {
    failed = dir + file;
    return Put(failed, std::to_string(value));
  };
  if (version == CgroupVersion::kV2) {
    if (int e = put("/memory.max", memory); e < 0) return e;
    int e = put("/memory.swap.max", 0);
    return e == -ENOENT ? 0 : e;  // absent if the kernel has no swap accounting
  }
  if (int e = put("/memory.limit_in_bytes", memory); e < 0) return e;
  int e = put("/memory.memsw.limit_in_bytes", memory);
  // Without swap accounting, keep the group from being swapped out at all.
  if (e == -ENOENT) e = put("/memory.swappiness", 0);
  if (e < 0) return e;
  // v1 counts TCP buffers separately, and only if they have a limit.
  e = put("/memory.kmem.tcp.limit_in_bytes", std::max(memory / kTcpShare, kLeastTcp));
  return e == -ENOENT ? 0 : e;
}

// Removes its empty memory groups.
void RemoveGroups(const std::string& dir, const std::string& except = "") {
  Directory list(AT_FDCWD, dir.c_str());
  while (const dirent* entry = list.Next())
    if (entry->d_type == DT_DIR && entry->d_name != except)
      unlinkat(list.fd(), entry->d_name, AT_REMOVEDIR);
}

// Calls `take` with each pid of the group; 0 or the first error.
template <typename Take>
int ForEachPid(const std::string& group, Take take) {
  std::string pids;
  if (int error = ReadFileAt(AT_FDCWD, (group + "/cgroup.procs").c_str(), pids); error < 0)
    return error;
  for (size_t at = 0; at < pids.size();) {
    const size_t end = std::min(pids.find('\n', at), pids.size());
    const int error = take(pids.substr(at, end - at));
    if (error < 0 && error != -ESRCH) return error;  // ended meanwhile
    at = end + 1;
  }
  return 0;
}

// Controllers can be enabled only in a group without processes. A delegated group holds us and
// whatever was started with us.
int MoveToLeaf(const std::string& group, std::string& failed) {
  std::string leaf = group + "/cloched";
  failed = leaf;
  if (mkdir(leaf.c_str(), 0755) < 0 && errno != EEXIST) return -errno;
  const int error =
      ForEachPid(group, [&](const std::string& pid) { return Put(leaf + "/cgroup.procs", pid); });
  if (error == 0) failed = group;
  return error;
}

}  // namespace

std::string CgroupTree::CorePath(const std::string& name) const {
  return host_.unified + PathOf(name);
}

std::string CgroupTree::MemoryPath(const std::string& name) const {
  return (host_.version == CgroupVersion::kV2 ? host_.unified : host_.memory) + PathOf(name);
}

int CgroupTree::Open(CgroupHost host, const std::string& tag, CgroupTree& tree,
                     std::string& failed) {
  tree.host_ = std::move(host);
  tree.parent_ = tree.host_.parent + "/cloche-" + tag;
  if (tree.host_.version == CgroupVersion::kNone) return 0;
  tree.RemoveAll();
  for (const std::string& hierarchy : Hierarchies(tree.host_)) {
    failed = hierarchy + tree.parent_;
    if (mkdir(failed.c_str(), 0755) < 0 && errno != EEXIST) return -errno;
  }
  if (tree.host_.version == CgroupVersion::kV2) {
    if (!tree.host_.parent.empty())
      if (int error = MoveToLeaf(tree.host_.unified + tree.host_.parent, failed); error < 0)
        return error;
    const std::string own = tree.host_.unified + tree.parent_;
    for (const std::string& dir : {tree.host_.unified + tree.host_.parent, own}) {
      std::string control = dir + "/cgroup.subtree_control";
      std::string enabled = ReadLine(control);
      for (const char* controller : {"memory", "pids", "cpu"}) {
        if (Has(enabled, controller)) continue;
        failed = control;
        if (int error = Put(control, std::string("+") + controller); error < 0) return error;
      }
      failed = tree.host_.unified + tree.parent_;
    }
  }
  if (tree.host_.version != CgroupVersion::kV1 || !tree.MakeCpuset()) tree.host_.cpuset.clear();
  // While one group of ours counts TCP buffers, the kernel need not switch that on and off.
  if (tree.host_.version == CgroupVersion::kV1)
    Put(tree.host_.memory + tree.parent_ + "/memory.kmem.tcp.limit_in_bytes", "-1");
  return 0;
}

// Without a cpuset of its own, Java considers v1 incomplete. This one limits nothing.
bool CgroupTree::MakeCpuset() const {
  if (host_.cpuset.empty()) return false;
  for (const std::string& group : {host_.cpuset + parent_, host_.cpuset + PathOf(kCommon)}) {
    if (mkdir(group.c_str(), 0755) < 0 && errno != EEXIST) return false;
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"})
      if (Put(group + file, ReadLine(host_.cpuset + file)) < 0) return false;
  }
  return true;
}

std::vector<CgroupTree::View> CgroupTree::Views(const std::string& name) const {
  if (host_.version == CgroupVersion::kNone) return {};
  if (host_.version == CgroupVersion::kV2) return {{host_.unified + PathOf(name), ""}};
  const std::string& cpuacct = host_.cpuacct.empty() ? host_.cpu : host_.cpuacct;
  std::vector<View> all = {{host_.memory + PathOf(name), "/memory"},
                           {host_.cpu + PathOf(name), "/cpu"},
                           {cpuacct + PathOf(name), "/cpuacct"}};
  if (!host_.cpuset.empty()) all.push_back({host_.cpuset + PathOf(kCommon), "/cpuset"});
  return all;
}

int CgroupTree::Create(const std::string& name, std::string& failed) const {
  for (const std::string& hierarchy : Hierarchies(host_)) {
    failed = hierarchy + PathOf(name);
    if (mkdir(failed.c_str(), 0755) < 0) return -errno;
  }
  return 0;
}

Fd CgroupTree::Open(const std::string& name) const {
  if (host_.version != CgroupVersion::kV2) return Fd();
  return Fd(open(CorePath(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int CgroupTree::OpenProcs(const std::string& name, std::vector<Fd>& procs,
                          std::string& failed) const {
  for (const std::string& hierarchy : Hierarchies(host_)) {
    failed = hierarchy + PathOf(name) + "/cgroup.procs";
    procs.emplace_back(open(failed.c_str(), O_WRONLY | O_CLOEXEC));
    if (!procs.back().valid()) return -errno;
  }
  if (host_.cpuset.empty()) return 0;
  failed = host_.cpuset + PathOf(kCommon) + "/cgroup.procs";
  procs.emplace_back(open(failed.c_str(), O_WRONLY | O_CLOEXEC));
  return procs.back().valid() ? 0 : -errno;
}

int CgroupTree::SetLimits(const std::string& name, uint64_t cpu_millis, uint64_t memory,
                          uint64_t pids, std::string& failed) const {
  auto put = [&](const std::string& path, const std::string& value) {
    failed = path;
    return Put(path, value);
  };
  std::string quota = std::to_string(cpu_millis * kCpuPeriodUs / 1000);
  if (host_.version == CgroupVersion::kV2) {
    std::string dir = host_.unified + PathOf(name);
    if (cpu_millis != 0)
      if (int e = put(dir + "/cpu.max", quota + " " + std::to_string(kCpuPeriodUs)); e < 0)
        return e;
    if (memory != 0)
      if (int e = LimitMemory(host_.version, dir, memory, failed); e < 0) return e;
    if (pids != 0)
      if (int e = put(dir + "/pids.max", std::to_string(pids)); e < 0) return e;
    return 0;
  }
  if (cpu_millis != 0) {
    std::string dir = host_.cpu + PathOf(name);
    if (int e = put(dir + "/cpu.cfs_period_us", std::to_string(kCpuPeriodUs)); e < 0) return e;
    if (int e = put(dir + "/cpu.cfs_quota_us", quota); e < 0) return e;
  }
  if (memory != 0) {
    if (int e = LimitMemory(host_.version, MemoryPath(name), memory, failed); e < 0) return e;
  }
  if (pids != 0)
    if (int e = put(host_.pids + PathOf(name) + "/pids.max", std::to_string(pids)); e < 0) return e;
  return 0;
}

int CgroupTree::ClearLimits(const std::string& name, std::string& failed) const {
  const bool v2 = host_.version == CgroupVersion::kV2;
  std::vector<std::pair<std::string, std::string>> files;
  if (v2) {
    std::string dir = host_.unified + PathOf(name);
    files = {{dir + "/cpu.max", "max"}, {dir + "/memory.max", "max"}, {dir + "/pids.max", "max"}};
  } else {
    // Memory and swap together first: the limit on memory alone must not exceed it.
    files = {{host_.cpu + PathOf(name) + "/cpu.cfs_quota_us", "-1"},
             {host_.memory + PathOf(name) + "/memory.memsw.limit_in_bytes", "-1"},
             {host_.memory + PathOf(name) + "/memory.kmem.tcp.limit_in_bytes", "-1"},
             {host_.memory + PathOf(name) + "/memory.limit_in_bytes", "-1"},
             {host_.pids + PathOf(name) + "/pids.max", "max"}};
  }
  for (const auto& [path, value] : files) {
    failed = path;
    if (int error = Put(path, value); error < 0 && error != -ENOENT) return error;
  }
  return 0;
}

Fd CgroupTree::WatchOom(const std::string& name) const {
  if (host_.version == CgroupVersion::kV2)
    return Fd(
        open((host_.unified + PathOf(name) + "/memory.events").c_str(), O_RDONLY | O_CLOEXEC));
  std::string dir = host_.memory + PathOf(name);
  Fd control(open((dir + "/memory.oom_control").c_str(), O_RDONLY | O_CLOEXEC));
  Fd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!control.valid() || !event.valid()) return Fd();
  std::string line = std::to_string(event.get()) + " " + std::to_string(control.get());
  if (Put(dir + "/cgroup.event_control", line) < 0) return Fd();
  return event;
}

int CgroupTree::Divide(const std::string& name, uint32_t group, pid_t init, uint64_t memory,
                       std::string& failed) const {
  const std::string dir = MemoryPath(name), own = dir + "/c" + std::to_string(group);
  const std::string rest = dir + "/c0", pid = std::to_string(init);
  auto make = [&](const std::string& path) {
    failed = path;
    return mkdir(path.c_str(), 0755) < 0 && errno != EEXIST ? -errno : 0;
  };
  RemoveGroups(dir);
  if (int error = make(own); error < 0) return error;
  const std::string control = dir + "/cgroup.subtree_control";
  if (host_.version == CgroupVersion::kV2 && !Has(ReadLine(control), "memory")) {
    // Only a group without processes can delegate a controller; processes that fork meanwhile are
    // moved again.
    if (int error = make(rest); error < 0) return error;
    int error = -EBUSY;
    for (int sweep = 0; sweep < kMostSweeps && error == -EBUSY; ++sweep) {
      failed = dir;
      error = ForEachPid(dir, [&](const std::string& each) {
        return Put((each == pid ? own : rest) + "/cgroup.procs", each);
      });
      if (error < 0) return error;
      failed = control;
      error = Put(control, "+memory");
    }
    if (error < 0) return error;
    if (memory != 0)
      for (const std::string& each : {own, rest})
        if (int e = LimitMemory(host_.version, each, memory, failed); e < 0) return e;
    return 0;
  }
  // The same limit again: programs look for it in their own group.
  if (memory != 0)
    if (int error = LimitMemory(host_.version, own, memory, failed); error < 0) return error;
  failed = own + "/cgroup.procs";
  return Put(failed, pid);
}

int CgroupTree::Kill(const std::string& name) const {
  return Put(CorePath(name) + "/cgroup.kill", "1");
}

int CgroupTree::Freeze(const std::string& name, int timeout_ms) const {
  const Fd events(open((CorePath(name) + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!events.valid()) return -errno;
  if (int error = Put(CorePath(name) + "/cgroup.freeze", "1"); error < 0) return error;
  const uint64_t deadline = MonotonicMicros() + static_cast<uint64_t>(timeout_ms) * 1000;
  // The kernel reports at most one change per 10 ms, but freezing takes much less: poll, too.
  for (uint64_t pause_us = 20;; pause_us = std::min(pause_us * 2, kMostPauseUs)) {
    char text[256];
    const ssize_t size = pread(events.get(), text, sizeof text - 1, 0);
    if (size < 0) return -errno;
    text[size] = '\0';
    if (NumberIn(text, "frozen") == 1) return 0;
    const uint64_t now = MonotonicMicros();
    if (now >= deadline) break;
    pollfd wait{events.get(), POLLPRI, 0};
    const timespec pause{0, static_cast<long>(pause_us * 1000)};
    if (ppoll(&wait, 1, &pause, nullptr) < 0 && errno != EINTR) return -errno;
  }
  Thaw(name);
  return -ETIMEDOUT;
}

int CgroupTree::Thaw(const std::string& name) const {
  return Put(CorePath(name) + "/cgroup.freeze", "0");
}

int64_t CgroupTree::DirtyBytes(const std::string& name) const {
  const std::string path = MemoryPath(name) + "/memory.stat";
  return ReadNumberAt(AT_FDCWD, path.c_str(),
                      host_.version == CgroupVersion::kV2 ? "file_dirty" : "total_dirty");
}

int CgroupTree::Remove(const std::string& name) const {
  int result = 0;
  for (const std::string& hierarchy : Hierarchies(host_)) {
    const std::string path = hierarchy + PathOf(name);
    if (rmdir(path.c_str()) == 0 || errno == ENOENT) continue;
    RemoveGroups(path);
    if (rmdir(path.c_str()) < 0 && errno != ENOENT) result = -errno;
  }
  return result;
}

void CgroupTree::RemoveAll() const {
  if (host_.version == CgroupVersion::kNone) return;
  std::vector<std::string> names;
  for (const std::string& hierarchy : Hierarchies(host_)) {
    Directory list(AT_FDCWD, (hierarchy + parent_).c_str());
    while (const dirent* entry = list.Next())
      if (entry->d_type == DT_DIR) names.push_back(entry->d_name);
  }
  for (const std::string& name : names) Kill(name);
  // A killed process leaves its group once it has exited; that takes milliseconds, seldom more.
  for (int attempt = 0; attempt < 200; ++attempt) {
    bool busy = false;
    for (const std::string& name : names) busy |= Remove(name) == -EBUSY;
    if (!busy) break;
    timespec pause{0, 10000000};
    nanosleep(&pause, nullptr);
  }
  for (const std::string& hierarchy : Hierarchies(host_)) rmdir((hierarchy + parent_).c_str());
  if (host_.version != CgroupVersion::kV1 || host_.cpuset.empty()) return;
  rmdir((host_.cpuset + PathOf(kCommon)).c_str());
  rmdir((host_.cpuset + parent_).c_str());
}

}  // namespace cloche::sys
