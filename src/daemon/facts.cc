#include "daemon/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "sys/file.h"
#include "sys/mount_info.h"

namespace cloche::daemon {
namespace {

std::string ReadAll(const char* path) {
  std::string text;
  sys::ReadFileAt(AT_FDCWD, path, text, 8 << 20);
  return text;
}

std::vector<HostMount> ReadMounts() {
  std::vector<HostMount> mounts;
  for (sys::MountInfo& line : sys::ParseMountInfo(ReadAll("/proc/self/mountinfo"))) {
    HostMount mount;
    mount.target = std::move(line.target);
    mount.source = std::move(line.source);
    mount.fs_type = std::move(line.fs_type);
    mount.device = std::move(line.device);
    mount.root = std::move(line.root);
    mount.read_only = ("," + line.options + ",").find(",ro,") != std::string::npos;
    mount.is_file = sys::IsRegularFile(mount.target.c_str());
    // A later mount on the same place covers the earlier one.
    std::erase_if(mounts, [&](const HostMount& other) { return other.target == mount.target; });
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

// The one spelling that plans are made of: without links where we may look, and /home/anna for
// /home/anna/ and /home//anna.
std::string RealPath(const std::string& path) {
  std::error_code error;
  std::string plain = std::filesystem::weakly_canonical(path, error);
  if (error) plain = std::filesystem::path(path).lexically_normal();
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain.starts_with("//") ? plain.substr(1) : plain;
}

// Special files of / itself, and what somebody of our network namespace listens at. Where sandboxes
// have their own, nothing needs to be known.
std::vector<std::string> ReadSockets() {
  std::set<std::string> found;
  std::istringstream lines(ReadAll("/proc/net/unix"));
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(" /");
    if (at == line.npos) continue;
    const std::string path = line.substr(at + 1);
    const bool own_inside = std::ranges::any_of(
        std::initializer_list<const char*>{"/dev/", "/proc/", "/run/", "/sys/", "/tmp/"},
        [&](const char* place) { return path.starts_with(place); });
    if (!own_inside) found.insert(path);
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/", error))
    if (entry.symlink_status(error).type() == std::filesystem::file_type::socket ||
        entry.symlink_status(error).type() == std::filesystem::file_type::fifo)
      found.insert(entry.path());
  return {found.begin(), found.end()};
}

struct Account {
  std::string name, home, shell;
  uint32_t uid = 0;
};

std::vector<Account> ReadAccounts() {
  std::vector<Account> accounts;
  std::istringstream lines(ReadAll("/etc/passwd"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name, password, uid, gid, comment, home, shell;
    std::getline(fields, name, ':');
    std::getline(fields, password, ':');
    std::getline(fields, uid, ':');
    std::getline(fields, gid, ':');
    std::getline(fields, comment, ':');
    std::getline(fields, home, ':');
    std::getline(fields, shell, ':');
    if (!home.starts_with('/') || uid.empty()) continue;
    accounts.push_back({name, RealPath(home), shell,
                        static_cast<uint32_t>(std::strtoul(uid.c_str(), nullptr, 10))});
  }
  return accounts;
}

bool IsSymlink(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  return entry.is_symlink(error);
}

bool IsPerson(const Account& account) {
  return account.uid == 0 || (account.uid >= 1000 && account.uid != 65534);
}

}  // namespace

HostFacts GatherHostFacts(Mode mode, const Directories& directories,
                          const sys::CgroupHost& cgroups) {
  HostFacts facts;
  facts.mode = mode;
  std::string release = ReadAll("/proc/sys/kernel/osrelease");
  std::sscanf(release.c_str(), "%d.%d", &facts.kernel_major, &facts.kernel_minor);
  facts.hostname = ReadAll("/proc/sys/kernel/hostname");
  while (!facts.hostname.empty() && facts.hostname.back() == '\n') facts.hostname.pop_back();
  facts.mounts = ReadMounts();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/", error))
    if (!IsSymlink(entry) && entry.is_directory(error))
      facts.root_directories.push_back(entry.path());
  std::ranges::sort(facts.root_directories);
  if (mode == Mode::kRootless) facts.sockets = ReadSockets();
  facts.cloche_paths = {RealPath(directories.state), RealPath(directories.runtime)};
  facts.memory_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  facts.usual_files = sys::UsualFileLimit();
  facts.most_files = sys::RaiseFileLimit();
  facts.cpus = static_cast<int>(std::thread::hardware_concurrency());
  facts.cgroup = cgroups.version == sys::CgroupVersion::kV2   ? Cgroup::kV2
                 : cgroups.version == sys::CgroupVersion::kV1 ? Cgroup::kV1
                                                              : Cgroup::kNone;
  auto number = [](const char* path) { return sys::ReadNumberAt(AT_FDCWD, path); };
  facts.apparmor_restricts_userns =
      number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1;
  facts.userns_disabled = number("/proc/sys/kernel/unprivileged_userns_clone") == 0 ||
                          number("/proc/sys/user/max_user_namespaces") == 0;
  facts.in_container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
  return facts;
}

UserFacts AccountOf(uint32_t uid) {
  UserFacts user;
  user.uid = uid;
  for (const Account& account : ReadAccounts()) {
    if (account.uid != uid) continue;
    user.name = account.name;
    user.home = account.home;
    break;
  }
  return user;
}

HostWatch::HostWatch(Mode mode)
    : mode_(mode), mounts_(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {}

bool HostWatch::Changed() {
  pollfd mounts{mounts_.get(), POLLPRI, 0};
  // The kernel tells each change once.
  bool changed = !mounts_.valid() || poll(&mounts, 1, 0) != 0;
  std::string hostname(HOST_NAME_MAX + 1, '\0');
  gethostname(hostname.data(), hostname.size());
  int64_t root_stamp = sys::ModifiedNanos("/");
  changed |= hostname != hostname_ || root_stamp != root_stamp_;
  if (mode_ == Mode::kRootless) {
    std::vector<std::string> sockets = ReadSockets();
    changed |= sockets != sockets_;
    sockets_ = std::move(sockets);
  }
  hostname_ = std::move(hostname);
  root_stamp_ = root_stamp;
  return changed;
}

int64_t PeopleStamp() {
  const auto passwd = static_cast<uint64_t>(sys::ModifiedNanos("/etc/passwd"));
  const auto homes = static_cast<uint64_t>(sys::ModifiedNanos("/home"));
  return static_cast<int64_t>(passwd * 31 + homes);  // wraps, as only unsigned may
}

std::vector<std::string> OtherHomes(uint32_t uid) {
  std::vector<std::string> homes;
  std::string own;
  for (const Account& account : ReadAccounts()) {
    if (account.uid == uid && own.empty()) own = account.home;
    if (account.uid != uid && IsPerson(account) && account.home != "/")
      homes.push_back(account.home);
  }
  // People of a directory service are in no file; their homes are where everybody's are.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/home", error)) {
    std::string path = entry.path();
    if (entry.is_directory(error) && !IsSymlink(entry) && !std::ranges::count(homes, path))
      homes.push_back(path);
  }
  std::erase(homes, own);
  return homes;
}

}  // namespace cloche::daemon
