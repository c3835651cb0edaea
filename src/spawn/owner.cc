#include "spawn/owner.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <iterator>

#include "base/ascii.h"
#include "spawn/pause.h"

namespace cloche::spawn {
namespace {

constexpr size_t kMostLinks = 16384;  // examined at most; beyond that no owner is found

pid_t processes[4096];
pid_t descriptors[4096];

bool IsBlank(char c) { return c == ' ' || c == '\n'; }

// Parses one line of /proc/net/tcp and its kin: "sl local:PORT remote:PORT st a b c uid timeout
// INODE ...". Returns the inode if the local port matches, otherwise 0.
uint64_t InodeOfLine(const char* line, const char* end, uint16_t port) {
  const char* at = line;
  for (int word = 0; at < end; ++word) {
    while (at < end && IsBlank(*at)) ++at;
    const char* start = at;
    while (at < end && !IsBlank(*at)) ++at;
    if (word == 1) {
      unsigned found = 0;
      const char* digit = at - start > 4 ? at - 4 : at;
      for (; digit < at && HexDigit(*digit) >= 0; ++digit)
        found = found * 16 + static_cast<unsigned>(HexDigit(*digit));
      if (found != port) return 0;
    }
    if (word == 9) {
      uint64_t inode = 0;
      for (; start < at && *start >= '0' && *start <= '9'; ++start)
        inode = inode * 10 + static_cast<uint64_t>(*start - '0');
      return inode;
    }
  }
  return 0;
}

uint64_t InodeIn(const char* path, uint16_t port) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char buffer[4096];
  size_t kept = 0;
  uint64_t inode = 0;
  while (inode == 0) {
    const ssize_t got = read(file, buffer + kept, sizeof buffer - kept);
    if (got <= 0) break;
    const char* end = buffer + kept + got;
    const char* line = buffer;
    for (const char* at = buffer; at < end && inode == 0; ++at) {
      if (*at != '\n') continue;
      inode = InodeOfLine(line, at, port);
      line = at + 1;
    }
    kept = static_cast<size_t>(end - line);
    if (kept == sizeof buffer) break;  // no such line
    memmove(buffer, line, kept);
  }
  close(file);
  return inode;
}

// Writes to the end of `text`; returns where it begins.
char* Decimal(uint64_t number, char* end) {
  do {
    *--end = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return end;
}

void ReadName(int process, char (&name)[16]) {
  const int file = openat(process, "comm", O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, name, sizeof name - 1);
  if (file >= 0) close(file);
  for (ssize_t i = 0; i < size; ++i)
    if (name[i] == '\n') name[i] = '\0';
}

bool Holds(int process, const char* link, size_t link_size, size_t& looked_at) {
  const long count = ListNumbers(process, "fd", descriptors, std::size(descriptors));
  if (count <= 0) return false;
  const int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool holds = false;
  for (long i = 0; i < count && !holds && looked_at < kMostLinks; ++i, ++looked_at) {
    char text[24] = {}, target[64];
    const char* number = Decimal(static_cast<uint64_t>(descriptors[i]), text + sizeof text - 1);
    const ssize_t size = readlinkat(fds, number, target, sizeof target);
    holds = size == static_cast<ssize_t>(link_size) && memcmp(target, link, link_size) == 0;
  }
  if (fds >= 0) close(fds);
  return holds;
}

}  // namespace

pid_t FindSocketOwner(uint16_t port, char (&name)[16]) {
  memset(name, 0, sizeof name);
  uint64_t inode = 0;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"})
    if (inode == 0) inode = InodeIn(path, port);
  if (inode == 0) return 0;
  char link[40] = "socket:[", digits[24];
  const char* number = Decimal(inode, digits + sizeof digits);
  const size_t size = static_cast<size_t>(digits + sizeof digits - number);
  memcpy(link + 8, number, size);
  link[8 + size] = ']';
  const long count = ListNumbers(AT_FDCWD, "/proc", processes, std::size(processes));
  size_t looked_at = 0;
  // The youngest first: the owner is usually a new process.
  for (long i = count - 1; i >= 0 && looked_at < kMostLinks; --i) {
    char path[32] = "/proc/", text[24] = {};
    const char* pid = Decimal(static_cast<uint64_t>(processes[i]), text + sizeof text - 1);
    memcpy(path + 6, pid, strlen(pid) + 1);
    const int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process < 0) continue;
    const bool found = Holds(process, link, size + 9, looked_at);
    if (found) ReadName(process, name);
    close(process);
    if (found) return processes[i];
  }
  return 0;
}

}  // namespace cloche::spawn
