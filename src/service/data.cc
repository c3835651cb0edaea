#include "service/data.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "sys/file.h"

namespace cloche::service {
namespace {

constexpr size_t kMostAccounts = 16 << 20;
constexpr long kFirstPerson = 1000;
constexpr int kLinksBelow = 2;  // levels that are searched for symlinks

bool IsBelow(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

// Not data of one service: top-level directories, and those that the kernel or the machine
// recreates.
bool IsKernels(const std::string& path) {
  for (const char* own : {"/dev", "/proc", "/run", "/sys"})
    if (path == own || IsBelow(path, own)) return true;
  return false;
}

bool IsShared(const std::string& directory) {
  if (std::ranges::count(directory, '/') <= 1) return true;  // "/", "/var", "/tmp"
  for (const char* common : {"/var/tmp", "/var/lib", "/var/log", "/var/cache", "/var/run"})
    if (directory == common) return true;
  // Homes of people; a service's own home is its data.
  std::string accounts;
  sys::ReadFileAt(AT_FDCWD, "/etc/passwd", accounts, kMostAccounts);
  std::istringstream lines(accounts);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ':')
        fields.emplace_back();
      else
        fields.back() += c;
    }
    if (fields.size() < 6 || fields[5].empty()) continue;
    const long uid = atol(fields[2].c_str());
    if ((uid == 0 || uid >= kFirstPerson) &&
        (directory == fields[5] || IsBelow(fields[5], directory)))
      return true;
  }
  return false;
}

std::string Parent(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsFileOf(const std::string& path, uint32_t uid) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == uid;
}

bool IsDirectoryOf(const std::string& path, uint32_t uid) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == uid;
}

void AddFile(const std::string& file, uint32_t uid, std::set<std::string>& data) {
  if (file.empty() || file[0] != '/' || IsKernels(file) || !IsFileOf(file, uid)) return;
  const std::string directory = Parent(file);
  data.insert(IsShared(directory) ? file : directory);
}

// Files that a process inherited open belong to its starter.
std::set<std::string> OpenOf(int pid) {
  std::set<std::string> open;
  for (const std::string& fd : ListOf(pid, "fd")) open.insert(LinkOf(pid, "fd/" + fd));
  return open;
}

// A file that is only appended to is a log.
bool IsOpenForWriting(int pid, const std::string& fd, bool logs) {
  const std::string info = ReadOf(pid, ("fdinfo/" + fd).c_str());
  const size_t at = info.find("flags:");
  if (at == std::string::npos) return false;
  const long flags = strtol(info.c_str() + at + strlen("flags:"), nullptr, 8);
  return (flags & O_ACCMODE) != O_RDONLY && (logs || (flags & O_APPEND) == 0);
}

void AddOpenFiles(int pid, uint32_t uid, const std::set<std::string>& inherited,
                  std::set<std::string>& data) {
  const std::string output = LinkOf(pid, "fd/1"), errors = LinkOf(pid, "fd/2");
  for (const std::string& fd : ListOf(pid, "fd")) {
    const std::string target = LinkOf(pid, "fd/" + fd);
    if (target == output || target == errors) continue;  // a log, too
    if (inherited.contains(target)) continue;
    if (IsOpenForWriting(pid, fd, false)) AddFile(target, uid, data);
  }
  // A file may be mapped and its descriptor closed.
  std::istringstream maps(ReadOf(pid, "maps"));
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && line.find(" rw-s ") != std::string::npos)
      AddFile(line.substr(path), uid, data);
  }
}

// Tablespaces, a write-ahead log on another disk.
void AddLinked(const std::string& directory, uint32_t uid, int levels,
               std::set<std::string>& data) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.is_symlink(error)) {
      const std::string target = std::filesystem::canonical(entry.path(), error).string();
      if (!error && IsDirectoryOf(target, uid) && !IsShared(target) && data.insert(target).second)
        AddLinked(target, uid, levels, data);
    } else if (levels > 1 && entry.is_directory(error)) {
      AddLinked(entry.path(), uid, levels - 1, data);
    }
  }
}

std::vector<std::string> Outermost(const std::set<std::string>& paths) {
  std::vector<std::string> kept;
  for (const std::string& path : paths)
    if (std::ranges::none_of(paths, [&](const auto& other) { return IsBelow(path, other); }))
      kept.push_back(path);
  return kept;
}

uint64_t counted = 0;

int Count(const char*, const struct stat* info, int, struct FTW*) {
  counted += static_cast<uint64_t>(info->st_blocks) * 512;
  return 0;
}

}  // namespace

std::vector<std::string> FindData(const HostProcess& first, const std::vector<int>& processes) {
  std::set<std::string> data;
  const std::string cwd = LinkOf(first.pid, "cwd");
  if (!IsKernels(cwd) && !IsShared(cwd) && IsDirectoryOf(cwd, first.uid)) data.insert(cwd);
  const std::set<std::string> inherited = OpenOf(first.parent);
  for (const int pid : processes) AddOpenFiles(pid, first.uid, inherited, data);
  const std::set<std::string> direct = data;
  for (const std::string& path : direct)
    if (IsDirectoryOf(path, first.uid)) AddLinked(path, first.uid, kLinksBelow, data);
  return Outermost(data);
}

Result<std::vector<std::string>> CheckData(const std::vector<std::string>& paths) {
  std::set<std::string> data;
  for (const std::string& path : paths) {
    char real[PATH_MAX];
    if (!realpath(path.c_str(), real))
      return Fail(Code::kInvalid,
                  fmt::format("find data {}: {}", EscapeForTerminal(path), strerror(errno)),
                  "give a directory or a file that exists: --service-data PATH");
    if (IsKernels(real) || strcmp(real, "/") == 0)
      return Fail(Code::kInvalid, fmt::format("copy {}: it is the machine's own", real),
                  "give the directory of the service's data: --service-data PATH");
    data.insert(real);
  }
  return Outermost(data);
}

std::vector<int> WritersBelow(const ProcessTable& table, const std::vector<std::string>& data) {
  std::map<std::string, dev_t> places;
  for (const std::string& path : data) {
    struct stat info;
    if (stat(path.c_str(), &info) == 0) places[path] = info.st_dev;
  }
  std::set<int> starters;
  for (int pid = getpid(); const HostProcess* process = table.Find(pid); pid = process->parent)
    starters.insert(pid);
  // A daemon of ours must not be paused, since it does the copying: its programs lie where this one
  // does.
  const std::string own = LinkOf(getpid(), "exe");
  const std::string ours = own.substr(0, own.find_last_of('/') + 1) + "cloche";
  std::vector<int> writers;
  for (const auto& [pid, process] : table.all()) {
    if (places.empty() || starters.contains(pid)) continue;
    if (LinkOf(pid, "exe").starts_with(ours)) continue;
    for (const std::string& fd : ListOf(pid, "fd")) {
      const std::string target = LinkOf(pid, "fd/" + fd);
      const auto place = std::ranges::find_if(places, [&](const auto& each) {
        return target == each.first || IsBelow(target, each.first);
      });
      struct stat info;
      // A sandbox has the same paths on another device.
      if (place == places.end() || !IsOpenForWriting(pid, fd, true) ||
          stat(fmt::format("/proc/{}/fd/{}", pid, fd).c_str(), &info) < 0 ||
          info.st_dev != place->second || !S_ISREG(info.st_mode))
        continue;
      writers.push_back(pid);
      break;
    }
  }
  return writers;
}

bool IsSameFor(int pid, const std::string& path) {
  struct stat ours, its;
  return stat(path.c_str(), &ours) == 0 &&
         stat(fmt::format("/proc/{}/root{}", pid, path).c_str(), &its) == 0 &&
         ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

uint64_t BytesBelow(const std::vector<std::string>& paths) {
  counted = 0;
  for (const std::string& path : paths) nftw(path.c_str(), Count, 64, FTW_PHYS | FTW_MOUNT);
  return counted;
}

}  // namespace cloche::service
