#include "spawn/pause.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <iterator>

namespace cloche::spawn {
namespace {

constexpr int kSteps = 2000;    // about a millisecond each
constexpr int kInOrder = 1000;  // steps; after that children do not wait for their parents

struct Process {
  pid_t pid;
  pid_t parent;
  bool stands;
};

pid_t asleep[4096];  // stopped before we came
size_t asleep_count = 0;
pid_t found[16384];
Process all[16384];

struct Stat {
  char state = 0;  // third field of stat: R, S, D, T ... 0 = it is gone
  pid_t parent = 0;
};

Stat StatAt(const char* path) {
  Stat out;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return out;
  char text[512];
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size < 0 ? 0 : size] = '\0';
  // A name may contain anything, even parentheses: the last one ends it.
  for (ssize_t at = size - 5; at > 0; --at) {
    if (text[at] != ')') continue;
    out.state = text[at + 2];
    for (const char* digit = text + at + 4; *digit >= '0' && *digit <= '9'; ++digit)
      out.parent = out.parent * 10 + (*digit - '0');
    break;
  }
  return out;
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
    if (!Stands(StatAt(path).state)) return false;
  }
  return true;
}

Stat StatOf(pid_t pid) {
  char path[40] = "/proc/";
  char* at = path + strlen(path);
  PutNumber(at, pid);
  memcpy(at, "/stat", 6);
  return StatAt(path);
}

bool WasAsleep(pid_t pid) {
  for (size_t i = 0; i < asleep_count; ++i)
    if (asleep[i] == pid) return true;
  return false;
}

bool NoteAsleep(long count) {
  asleep_count = 0;
  for (long i = 0; i < count; ++i) {
    if (found[i] == 1 || StatOf(found[i]).state != 'T') continue;
    if (asleep_count == std::size(asleep)) return false;
    asleep[asleep_count++] = found[i];
  }
  return true;
}

// A process that is not in the list has no parent that could still move.
bool StandsInList(pid_t pid, long count) {
  if (pid == 1) return true;
  for (long i = 0; i < count; ++i)
    if (all[i].pid == pid) return all[i].stands;
  return true;
}

}  // namespace

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

bool IsDead(pid_t pid) {
  const char state = StatOf(pid).state;
  return state == 0 || state == 'Z' || state == 'X';
}

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

// Parents first, and children only once these stand still: a shell must not see its jobs stop. This
// is also the only order that works for a process waiting for its child between vfork and exec: it
// cannot be stopped before the child goes on.
bool PauseOthers() {
  for (int step = 0; step < kSteps; ++step) {
    const long count = ListNumbers(AT_FDCWD, "/proc", found, std::size(found));
    if (step == 0 && (count < 0 || !NoteAsleep(count))) return false;
    long moving = 0;
    for (long i = 0; i < count; ++i) {
      all[i] = {found[i], StatOf(found[i]).parent, found[i] == 1 || AllThreadsStand(found[i])};
      if (!all[i].stands) ++moving;
    }
    if (moving == 0) return true;
    for (long i = 0; i < count; ++i)
      if (!all[i].stands && (step > kInOrder || StandsInList(all[i].parent, count)))
        kill(all[i].pid, SIGSTOP);
    const timespec pause{0, step < 20 ? 200'000 : 1'000'000};
    syscall(SYS_nanosleep, &pause, nullptr);
  }
  ResumeOthers();
  return false;
}

// Children first: a shell that wakes up before them would think that somebody stopped them.
void ResumeOthers() {
  const long count = ListNumbers(AT_FDCWD, "/proc", found, std::size(found));
  for (long i = count - 1; i >= 0; --i)
    if (found[i] != 1 && !WasAsleep(found[i])) kill(found[i], SIGCONT);
}

}  // namespace cloche::spawn
