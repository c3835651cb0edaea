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

#include "policy/view.h"
#include "sys/file.h"
#include "sys/file_times.h"
#include "sys/mount_info.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostSockets = 4096;  // each needs a mount

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
    // A later mount at the same place covers the earlier one.
    std::erase_if(mounts, [&](const HostMount& other) { return other.target == mount.target; });
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

// The one spelling that plans use: links resolved as far as we may look, and /home/anna for
// /home/anna/ and /home//anna.
std::string RealPath(const std::string& path) {
  std::error_code error;
  std::string plain = std::filesystem::weakly_canonical(path, error);
  if (error) plain = std::filesystem::path(path).lexically_normal();
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain.starts_with("//") ? plain.substr(1) : plain;
}

bool IsOfType(const std::string& path, std::filesystem::file_type type) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() == type;
}

struct Sockets {
  std::vector<std::string> paths;
  bool known = true;
  bool operator==(const Sockets&) const = default;
};

// Sockets and FIFOs in / itself, and sockets that somebody in our network namespace listens on, if
// they stay alive inside (BindsTopDirectory). Only rootless sandboxes can reach any.
Sockets ReadSockets(const HostFacts& facts) {
  if (facts.mode != Mode::kRootless) return {};
  using std::filesystem::file_type;
  Sockets sockets;
  std::set<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/", error))
    if (IsOfType(entry.path(), file_type::socket) || IsOfType(entry.path(), file_type::fifo))
      found.insert(entry.path());
  if (BindsTopDirectory(facts)) {
    std::string text;
    sockets.known = sys::ReadFileAt(AT_FDCWD, "/proc/net/unix", text, 8 << 20) == 0;
    const std::vector<std::string> listed = ListedSockets(text);
    sockets.known &= listed.size() <= kMostSockets;
    if (!sockets.known) return sockets;
    // A name may contain a newline: cover only paths that exist.
    for (const std::string& path : listed)
      if (IsOfType(path, file_type::socket)) found.insert(path);
  }
  sockets.paths.assign(found.begin(), found.end());
  return sockets;
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
  Sockets sockets = ReadSockets(facts);
  facts.sockets = std::move(sockets.paths);
  facts.sockets_known = sockets.known;
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

std::vector<std::string> ListedSockets(const std::string& proc_net_unix) {
  std::set<std::string> found;
  std::istringstream lines(proc_net_unix);
  for (std::string line; std::getline(lines, line);) {
    size_t at = 0;
    for (int field = 0; field < 7 && at != line.npos; ++field)  // up to the inode, which is padded
      at = line.find(' ', line.find_first_not_of(' ', at));
    if (at == line.npos || line.compare(at, 2, " /") != 0) continue;
    const std::string path = line.substr(at + 1);
    const bool own_inside = std::ranges::any_of(
        std::initializer_list<const char*>{"/dev/", "/proc/", "/run/", "/sys/", "/tmp/"},
        [&](const char* place) { return path.starts_with(place); });
    if (!own_inside) found.insert(path);
  }
  return {found.begin(), found.end()};
}

HostWatch::HostWatch() : mounts_(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {}

bool HostWatch::Changed(const HostFacts& facts) {
  pollfd mounts{mounts_.get(), POLLPRI, 0};
  // The kernel reports each change once.
  bool changed = !mounts_.valid() || poll(&mounts, 1, 0) != 0;
  std::string hostname(HOST_NAME_MAX + 1, '\0');
  gethostname(hostname.data(), hostname.size());
  int64_t root_stamp = sys::ModifiedNanos("/");
  changed |= hostname != hostname_ || root_stamp != root_stamp_;
  // On each call: a missed socket is a way out of the sandbox as long as that lives. Sockets in /
  // itself change its stamp.
  if (facts.mode == Mode::kRootless && BindsTopDirectory(facts))
    changed |= ReadSockets(facts) != Sockets{facts.sockets, facts.sockets_known};
  hostname_ = std::move(hostname);
  root_stamp_ = root_stamp;
  return changed;
}

int64_t PeopleStamp() {
  const auto passwd = static_cast<uint64_t>(sys::ModifiedNanos("/etc/passwd"));
  const auto homes = static_cast<uint64_t>(sys::ModifiedNanos("/home"));
  return static_cast<int64_t>(passwd * 31 + homes);  // wraps, so it must be unsigned
}

std::vector<std::string> OtherHomes(uint32_t uid) {
  std::vector<std::string> homes;
  std::string own;
  for (const Account& account : ReadAccounts()) {
    if (account.uid == uid && own.empty()) own = account.home;
    if (account.uid != uid && IsPerson(account) && account.home != "/")
      homes.push_back(account.home);
  }
  // Users from a directory service are in no file; their homes are in the usual place.
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
