#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe/attack.h"

namespace cloche::probe {
namespace {

long Number(const std::string& word) { return strtol(word.c_str(), nullptr, 10); }

bool JudgeIsDone() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char byte;
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

pid_t ForkIdle() {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the bomb itself is killed
  for (;;) pause();
}

// Words: how many at most. Keeps trying for as long as the judge looks around.
void ForkBomb(Attempt& attempt) {
  std::vector<pid_t> children;
  const auto most = static_cast<size_t>(Number(attempt.words[0]));
  const auto fill = [&] {
    while (children.size() < most) {
      const pid_t child = ForkIdle();
      if (child < 0) break;
      children.push_back(child);
    }
  };
  fill();
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  while (!JudgeIsDone()) fill();
  attempt.Set("count", children.size());
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

bool Fill(void* memory, size_t size) {
  if (memory == MAP_FAILED) return false;
  for (size_t at = 0; at < size; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  return true;
}

// Words: how, how many bytes.
void EatMemory(Attempt& attempt) {
  constexpr size_t kStep = 4 << 20;
  const std::string& how = attempt.words[0];
  const auto most = static_cast<size_t>(Number(attempt.words[1]));
  int file = -1;
  if (how == "memfd") file = memfd_create("probe", MFD_CLOEXEC);
  if (how == "shm") file = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (how == "pipes") {
    size_t held = 0;
    const std::string block(1 << 16, 'x');
    for (int fds[2]; held < most && pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0;) {
      const ssize_t count = write(fds[1], block.data(), block.size());
      if (count <= 0) break;
      held += static_cast<size_t>(count);
    }
    return attempt.Set("bytes", held);
  }
  size_t held = 0;
  for (; held < most; held += kStep) {
    if (file >= 0 && ftruncate(file, static_cast<off_t>(held + kStep)) != 0) break;
    void* memory = file >= 0 ? mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                                    static_cast<off_t>(held))
                             : mmap(nullptr, kStep, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!Fill(memory, kStep)) break;
  }
  attempt.Set("bytes", held);
}

void OomScore(Attempt& attempt) {
  for (const char* path : {"/proc/self/oom_score_adj", "/proc/1/oom_score_adj"}) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    attempt.Try(fmt::format("{} -1000", path), fd < 0 ? -1 : write(fd, "-1000", 5));
    if (fd >= 0) close(fd);
  }
}

// Words: a directory, how many bytes.
void FillDisk(Attempt& attempt) {
  const std::string path = fmt::format("{}/filler-{}", attempt.words[0], getpid());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  long written = 0;
  const std::string block(1 << 20, 'x');
  while (fd >= 0 && written < Number(attempt.words[1])) {
    const ssize_t count = write(fd, block.data(), block.size());
    if (count <= 0) break;
    written += count;
  }
  // Bytes that the page cache took but the disk has no room for count as refused.
  if (fd >= 0 && fsync(fd) != 0) attempt.Set("fsync", strerrorname_np(errno));
  attempt.Set("bytes", written);
  attempt.Set("errno", strerrorname_np(errno));
  attempt.ReadyAndHold();
  unlink(path.c_str());
}

// Words: a directory, how many bytes. Space that a careless count misses: deleted files, reserved
// blocks, islands in a hole, files of another project.
void HideBytes(Attempt& attempt) {
  const long most = Number(attempt.words[1]);
  const std::string block(1 << 20, 'x');
  long held = 0;
  for (const char* how : {"deleted", "reserved", "islands", "project"}) {
    const std::string path = fmt::format("{}/{}-{}", attempt.words[0], how, getpid());
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    unlink(path.c_str());
    fsxattr attributes{};
    attributes.fsx_projid = 4711;
    if (*how == 'p') ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
    for (off_t at = 0; at < most / 4; at += 1 << 20) {
      const off_t where = *how == 'i' ? at * 1024 : at;
      if (*how == 'r' ? fallocate(fd, FALLOC_FL_KEEP_SIZE, where, 1 << 20) != 0
                      : pwrite(fd, block.data(), block.size(), where) <= 0)
        break;
    }
    fsync(fd);
    struct stat info {};
    if (fstat(fd, &info) == 0) held += info.st_blocks * 512;
  }
  attempt.Set("bytes", held);
  attempt.ReadyAndHold();
}

void OpenFiles(Attempt& attempt) {
  long count = 0;
  while (count < Number(attempt.words[0]) && dup(STDERR_FILENO) >= 0) ++count;
  attempt.Set("count", count);
}

int OpenOne(const std::string& kind) {
  if (kind == "ptys") return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (kind == "inotify") return inotify_init1(IN_CLOEXEC);
  timer_t timer{};  // each holds one of RLIMIT_SIGPENDING
  return timer_create(CLOCK_MONOTONIC, nullptr, &timer);
}

// Words: of what, how many at most. Things of which the kernel has one stock for everybody.
void Exhaust(Attempt& attempt) {
  const long most = Number(attempt.words[1]);
  long count = 0;
  // Below the limit of one process on descriptors there is nothing to see: raise it.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  while (count < most && OpenOne(attempt.words[0]) >= 0) ++count;
  attempt.Set("count", count);
  if (most > 1) attempt.ReadyAndHold();
}

void Priority(Attempt& attempt) {
  InChild(
      [](Attempt& child) {
        const sched_param top{99};
        child.Try("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &top));
        child.Try("SCHED_RR", sched_setscheduler(0, SCHED_RR, &top));
        child.Try("nice -20", setpriority(PRIO_PROCESS, 0, -20));
        child.Try("real-time I/O", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
        const rlimit raised{RLIM_INFINITY, RLIM_INFINITY};
        child.Try("RLIMIT_RTPRIO", setrlimit(RLIMIT_RTPRIO, &raised));
      },
      attempt);
}

// Words: how many processes.
void Spin(Attempt& attempt) {
  std::vector<pid_t> children;
  for (long left = Number(attempt.words[0]); left > 0; --left) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) asm volatile("");
    if (child > 0) children.push_back(child);
  }
  attempt.ReadyAndHold();
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

// Words: how many bytes. No newline, as fast as the reader takes it.
void Flood(Attempt& attempt) {
  const std::string block(1 << 16, 'y');
  for (long left = Number(attempt.words[0]); left > 0;) {
    const ssize_t count = write(STDOUT_FILENO, block.data(), block.size());
    if (count <= 0) break;
    left -= count;
  }
  (void)!write(STDOUT_FILENO, "\n", 1);
  attempt.Set("flooded", true);
}

// Stopped, deaf, and with a parent that waits for a child that never starts.
void Dodge(Attempt&) {
  for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  const pid_t parent = getpid();
  if (vfork() == 0) {  // NOLINT(bugprone-unsafe-functions): to be stuck in it is the attack
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) raise(SIGSTOP);  // else the control was ended before the line above
    _exit(0);
  }
  raise(SIGSTOP);
}

constexpr Attack kAttacks[] = {
    {"fork-bomb", ForkBomb}, {"eat-memory", EatMemory}, {"oom-score", OomScore},
    {"fill-disk", FillDisk}, {"open-files", OpenFiles}, {"hide-bytes", HideBytes},
    {"exhaust", Exhaust},    {"priority", Priority},    {"spin", Spin},
    {"flood", Flood},        {"dodge", Dodge},
};

}  // namespace

std::span<const Attack> ResourceAttacks() { return kAttacks; }

}  // namespace cloche::probe
