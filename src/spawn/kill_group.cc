#include "spawn/kill_group.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "spawn/pause.h"

namespace cloche::spawn {
namespace {

constexpr int kMostRounds = 100;

pid_t processes[16384];
pid_t signalled[std::size(processes)];  // in the previous round, ascending

// Whether a line "ID:CONTROLLERS:PATH" is about memory. v2 has one line without names.
bool IsMemory(const char* names, size_t size, bool unified) {
  constexpr char kName[] = "memory";
  constexpr size_t kSize = sizeof kName - 1;
  if (unified) return size == 0;
  for (size_t at = 0; at + kSize <= size; ++at)
    if (memcmp(names + at, kName, kSize) == 0 && (at == 0 || names[at - 1] == ',') &&
        (at + kSize == size || names[at + kSize] == ','))
      return true;
  return false;
}

size_t ReadOf(pid_t pid, const char* name, char (&text)[4096]) {
  char file[40] = "/proc/";
  char* at = file + strlen(file);
  PutNumber(at, pid);
  memcpy(at, name, strlen(name) + 1);
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[size > 0 ? size : 0] = '\0';
  return size > 0 ? static_cast<size_t>(size) : 0;
}

bool IsIn(pid_t pid, const char* path, bool unified) {
  char text[4096];
  const char* end = text + ReadOf(pid, "/cgroup", text);
  for (const char* line = text; line < end;) {
    const char* newline = line + strcspn(line, "\n");
    const char* names = line + strcspn(line, ":") + 1;
    if (names >= newline) return false;
    const char* group = names + strcspn(names, ":") + 1;
    if (group > newline) return false;
    const auto size = static_cast<size_t>(newline - group);
    if (IsMemory(names, static_cast<size_t>(group - 1 - names), unified))
      return size == strlen(path) && memcmp(group, path, size) == 0;
    line = newline + 1;
  }
  return false;
}

}  // namespace

// A process with SIGKILL pending no longer forks, however long it takes to free its memory: we are
// done when a round finds only processes signalled before it.
void KillGroup(const char (&path)[16], bool unified) {
  long before = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    const long count = ListNumbers(AT_FDCWD, "/proc", processes, std::size(processes));
    bool fresh = count < 0;
    long now = 0;
    for (long i = 0; i < count; ++i) {
      const pid_t pid = processes[i];
      if (pid == 1 || IsDead(pid) || !IsIn(pid, path, unified)) continue;
      if (!std::binary_search(signalled, signalled + before, pid)) fresh = true;
      kill(pid, SIGKILL);
      processes[now++] = pid;
    }
    if (!fresh) return;
    std::copy_n(processes, now, signalled);
    before = now;
    const timespec pause{0, 500'000};
    syscall(SYS_nanosleep, &pause, nullptr);
  }
  kill(-1, SIGKILL);
}

}  // namespace cloche::spawn
