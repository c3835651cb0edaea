#include "service/process_table.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/directory.h"
#include "sys/file.h"

namespace cloche::service {
namespace {

constexpr size_t kMostBytes = 4 << 20;

std::string PathOf(int pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

// The name in brackets may hold anything; what follows the last bracket is numbers.
bool ParseStat(const std::string& stat, HostProcess& process) {
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return false;
  unsigned long long started = 0;
  if (sscanf(stat.c_str() + end + 1,
             " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
             &process.parent, &started) != 2)
    return false;
  process.started = started;
  return true;
}

std::vector<uint32_t> NumbersAfter(const std::string& status, const char* key) {
  std::vector<uint32_t> numbers;
  const size_t at = status.find(std::string("\n") + key + ":");
  if (at == std::string::npos) return numbers;
  const char* text = status.c_str() + at + strlen(key) + 2;
  while (*text == '\t' || *text == ' ') {
    char* end = nullptr;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text) break;
    numbers.push_back(static_cast<uint32_t>(number));
    text = end;
    while (*text == ' ') ++text;
    if (*text >= '0' && *text <= '9') --text;  // the blank before the next one
  }
  return numbers;
}

}  // namespace

std::string ReadOf(int pid, const char* file) {
  std::string content;
  return sys::ReadFileAt(AT_FDCWD, PathOf(pid, file).c_str(), content, kMostBytes) < 0 ? ""
                                                                                       : content;
}

std::string LinkOf(int pid, const std::string& file) {
  char target[PATH_MAX];
  const ssize_t size = readlink(PathOf(pid, file).c_str(), target, sizeof target);
  return size <= 0 ? "" : std::string(target, static_cast<size_t>(size));
}

std::vector<std::string> ListOf(int pid, const char* directory) {
  std::vector<std::string> names;
  sys::Directory list(AT_FDCWD, PathOf(pid, directory).c_str());
  while (const dirent* entry = list.Next()) names.emplace_back(entry->d_name);
  return names;
}

std::vector<std::string> SplitAtNul(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

ProcessTable ProcessTable::Read() {
  ProcessTable table;
  sys::Directory list(AT_FDCWD, "/proc");
  while (const dirent* entry = list.Next()) {
    HostProcess process;
    process.pid = atoi(entry->d_name);
    if (process.pid <= 0 || !ParseStat(ReadOf(process.pid, "stat"), process)) continue;
    const std::string status = ReadOf(process.pid, "status");
    const std::vector<uint32_t> uids = NumbersAfter(status, "Uid");
    const std::vector<uint32_t> gids = NumbersAfter(status, "Gid");
    if (uids.size() != 4 || gids.size() != 4) continue;
    process.uid = uids[1];
    process.gid = gids[1];
    process.groups = NumbersAfter(status, "Groups");
    table.processes_[process.pid] = std::move(process);
  }
  return table;
}

const HostProcess* ProcessTable::Find(int pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : &found->second;
}

std::vector<int> ProcessTable::Tree(int pid) const {
  std::vector<int> tree;
  if (Find(pid)) tree.push_back(pid);
  for (size_t i = 0; i < tree.size(); ++i)
    for (const auto& [other, process] : processes_)
      if (process.parent == tree[i] && other != tree[i]) tree.push_back(other);
  return tree;
}

}  // namespace cloche::service
