#include "service/sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sstream>

#include "service/process_table.h"
#include "sys/file.h"

namespace cloche::service {
namespace {

constexpr size_t kMostBytes = 64 << 20;
constexpr unsigned kListens = 0x0a;        // TCP_LISTEN
constexpr unsigned kAccepts = 0x00010000;  // __SO_ACCEPTCON

void ReadTcp(const char* path, std::vector<Listener>& listeners) {
  std::string table;
  if (sys::ReadFileAt(AT_FDCWD, path, table, kMostBytes) < 0) return;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    unsigned port = 0, state = 0, uid = 0;
    unsigned long long inode = 0;
    if (sscanf(line.c_str(),
               " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u %*d %llu", &port,
               &state, &uid, &inode) == 4 &&
        state == kListens)
      listeners.push_back({{static_cast<uint16_t>(port), ""}, inode, uid});
  }
}

void ReadUnix(std::vector<Listener>& listeners) {
  std::string table;
  if (sys::ReadFileAt(AT_FDCWD, "/proc/net/unix", table, kMostBytes) < 0) return;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    unsigned flags = 0, type = 0;
    unsigned long long inode = 0;
    int path = 0;
    if (sscanf(line.c_str(), "%*[^:]: %*x %*x %x %x %*x %llu %n", &flags, &type, &inode, &path) ==
            3 &&
        (flags & kAccepts) != 0 && type == 1 && path > 0 && line[static_cast<size_t>(path)] == '/')
      listeners.push_back({{0, line.substr(static_cast<size_t>(path))}, inode, 0});
  }
}

}  // namespace

std::vector<Listener> ListenersHere() {
  std::vector<Listener> listeners;
  ReadTcp("/proc/net/tcp", listeners);
  ReadTcp("/proc/net/tcp6", listeners);
  ReadUnix(listeners);
  return listeners;
}

std::set<uint64_t> SocketsOf(int pid) {
  std::set<uint64_t> inodes;
  for (const std::string& fd : ListOf(pid, "fd")) {
    unsigned long long inode = 0;
    if (sscanf(LinkOf(pid, "fd/" + fd).c_str(), "socket:[%llu]", &inode) == 1) inodes.insert(inode);
  }
  return inodes;
}

}  // namespace cloche::service
