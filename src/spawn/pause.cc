#include "spawn/pause.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>

namespace cloche::spawn {
namespace {

constexpr int kAttempts = 20;
constexpr int kPatienceMs = 100;  // of one attempt

pid_t asleep[4096];  // stopped before we came
size_t asleep_count = 0;
pid_t found[16384];

// The processes (or the threads of one) in a directory of /proc; -1 if there are too many, or none
// can be read.
long ListNumbers(int dir, const char* path, pid_t* numbers, size_t most) {
  const int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  alignas(8) char buffer[4096];
  size_t count = 0;
  for (;;) {
    const long size = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      struct Entry {
        uint64_t inode;
        int64_t next;
        unsigned short length;
        unsigned char type;
        char name[1];
      };
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->length;
      pid_t number = 0;
      const char* digit = entry->name;
      for (; *digit >= '0' && *digit <= '9'; ++digit) number = number * 10 + (*digit - '0');
      if (*digit != '\0' || digit == entry->name) continue;
      if (count == most) {
        close(fd);
        return -1;
      }
      numbers[count++] = number;
    }
  }
  close(fd);
  return static_cast<long>(count);
}

void PutNumber(char*& at, pid_t number) {
  char digits[12];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) *at++ = digits[--count];
  *at = '\0';
}

// As in the third field of stat: R, S, D, T ... 0 = it is gone.
char StateAt(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[512];
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  // A name may hold anything, parentheses too: the last one ends it.
  for (ssize_t at = size - 3; at > 0; --at)
    if (text[at] == ')') return text[at + 2];
  return 0;
}

bool Stands(char state) {
  return state == 0 || state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

bool AllThreadsStand(pid_t pid) {
  static pid_t threads[16384];
  char path[64] = "/proc/";
  char* at = path + strlen(path);
  PutNumber(at, pid);
  memcpy(at, "/task", 6);
  at += 5;
  const long count = ListNumbers(AT_FDCWD, path, threads, std::size(threads));
  for (long i = 0; i < count; ++i) {
    char* name = at;
    *name++ = '/';
    PutNumber(name, threads[i]);
    memcpy(name, "/stat", 6);
    if (!Stands(StateAt(path))) return false;
  }
  return true;
}

char StateOf(pid_t pid) {
  char path[40] = "/proc/";
  char* at = path + strlen(path);
  PutNumber(at, pid);
  memcpy(at, "/stat", 6);
  return StateAt(path);
}

bool WasAsleep(pid_t pid) {
  for (size_t i = 0; i < asleep_count; ++i)
    if (asleep[i] == pid) return true;
  return false;
}

// False: somebody did not stop, and all go on.
bool TryToPause() {
  asleep_count = 0;
  long count = ListNumbers(AT_FDCWD, "/proc", found, std::size(found));
  if (count < 0) return false;
  for (long i = 0; i < count; ++i) {
    if (found[i] == 1 || StateOf(found[i]) != 'T') continue;
    if (asleep_count == std::size(asleep)) return false;
    asleep[asleep_count++] = found[i];
  }
  if (kill(-1, SIGSTOP) < 0) return errno == ESRCH;  // nobody is there
  for (int waited = 0; waited < kPatienceMs; ++waited) {
    count = ListNumbers(AT_FDCWD, "/proc", found, std::size(found));
    bool all = count >= 0;
    for (long i = 0; all && i < count; ++i) all = found[i] == 1 || AllThreadsStand(found[i]);
    if (all) return true;
    poll(nullptr, 0, 1);
  }
  ResumeOthers();
  return false;
}

}  // namespace

// Somebody who waits for a child between vfork and exec cannot be stopped as long as the child is.
// So whoever does not stop soon gets a moment to go on, and then it is tried again.
bool PauseOthers() {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (TryToPause()) return true;
    poll(nullptr, 0, attempt + 1);
  }
  return false;
}

// Children first: a shell that wakes up before them would take them for stopped by somebody.
void ResumeOthers() {
  const long count = ListNumbers(AT_FDCWD, "/proc", found, std::size(found));
  for (long i = count - 1; i >= 0; --i)
    if (found[i] != 1 && !WasAsleep(found[i])) kill(found[i], SIGCONT);
}

}  // namespace cloche::spawn
