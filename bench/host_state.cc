#include "host_state.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace cloche::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

long Entries(const std::string& path) {
  std::error_code error;
  long count = 0;
  for (auto it = fs::directory_iterator(path, error); !error && it != fs::directory_iterator();
       it.increment(error))
    ++count;
  return count;
}

long Lines(const std::string& path) {
  std::ifstream file(path);
  long count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

// Of all hierarchies, those with our name in their path: what other programs make is not ours.
long Cgroups() {
  std::error_code error;
  long count = 0;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto it = fs::recursive_directory_iterator("/sys/fs/cgroup", options, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error))
    if (std::error_code ignored;
        it->is_directory(ignored) && it->path().native().find("cloche") != std::string::npos)
      ++count;
  return count;
}

long LoopDevices(const std::string& below) {
  std::error_code error;
  long count = 0;
  for (const auto& entry : fs::directory_iterator("/sys/block", error)) {
    std::ifstream file(entry.path() / "loop/backing_file");
    std::string backing;
    if (std::getline(file, backing) && backing.starts_with(below)) ++count;
  }
  return count;
}

long QuotaGroups(const std::string& pool) {
  const int fd = open(pool.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  btrfs_ioctl_fs_info_args info{};
  const bool known = fd >= 0 && ioctl(fd, BTRFS_IOC_FS_INFO, &info) == 0;
  // Wakes the cleaner, which otherwise takes up to 30 s to free a subvolume and its quota group.
  if (known) ioctl(fd, BTRFS_IOC_SYNC, nullptr);
  close(fd);
  if (!known) return 0;
  std::string uuid;
  for (int i = 0; i < 16; ++i)
    uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.fsid[i]);
  return Entries("/sys/fs/btrfs/" + uuid + "/qgroups");
}

HostState CountNow(const OwnDaemon& daemon) {
  HostState state;
  const auto all = daemon.Processes();
  const auto services = Services(daemon);
  state["processes"] = static_cast<long>(all.size());
  std::map<std::string, std::set<std::string>> namespaces;
  for (const pid_t pid : all) {
    std::error_code error;
    for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"})
      namespaces[kind].insert(fs::read_symlink(fmt::format("/proc/{}/ns/{}", pid, kind), error));
  }
  for (const auto& [kind, seen] : namespaces)
    state[kind + " namespaces"] = static_cast<long>(seen.size());
  state["mounts of the host"] = Lines("/proc/self/mountinfo");
  state["cgroups"] = Cgroups();
  state["loop devices"] = LoopDevices(daemon.state());
  state["log files"] = Entries(daemon.state() + "/daemon/logs");
  for (size_t i = 0; i < services.size(); ++i) {
    const std::string name = i == 0 ? "cloched" : i == 1 ? "cloche-spawn" : "keeper";
    state["descriptors of " + name] = Entries(fmt::format("/proc/{}/fd", services[i]));
  }
  if (services.size() > 1) {
    state["mounts of cloche-spawn"] = Lines(fmt::format("/proc/{}/mountinfo", services[1]));
    const std::string pool = PoolSeenFromHere(daemon);
    for (const char* folder : {"once", "kept", "masks", "trash"})
      state[fmt::format("pool/{}", folder)] = Entries(pool + "/" + folder);
    state["quota groups"] = QuotaGroups(pool);
  }
  return state;
}

}  // namespace

long ResidentKib(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  return 0;
}

std::vector<pid_t> Services(const OwnDaemon& daemon) {
  std::error_code error;
  const auto pid_namespace = [&](pid_t pid) {
    return fs::read_symlink(fmt::format("/proc/{}/ns/pid", pid), error);
  };
  const auto ours = pid_namespace(getpid());
  std::vector<pid_t> services;
  for (const pid_t pid : daemon.Processes())
    if (pid_namespace(pid) == ours) services.push_back(pid);
  return services;
}

std::string PoolSeenFromHere(const OwnDaemon& daemon) {
  const auto services = Services(daemon);
  if (services.size() < 2) return "";
  return fmt::format("/proc/{}/root{}/pool", services[1], daemon.state());
}

HostState SettledState(const OwnDaemon& daemon, bool smoke, const HostState& expected) {
  if (smoke) return CountNow(daemon);
  // A busy time leaves more prepared sandboxes in stock than a quiet one, for ten seconds.
  std::this_thread::sleep_for(12s);
  HostState last;
  int same = 0;
  // Differing from what is expected it gets a minute before that counts.
  for (int i = 0; i < 240; ++i) {
    HostState now = CountNow(daemon);
    same = now == last ? same + 1 : 0;
    last = std::move(now);
    if (same >= 8 && (expected.empty() || last == expected)) break;
    std::this_thread::sleep_for(250ms);
  }
  return last;
}

}  // namespace cloche::bench
