#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "probe/attack.h"

namespace cloche::probe {
namespace {

// Words: how many threads, how many calls each, a place to mount on. Denied calls whose arguments
// another thread changes meanwhile, from threads that vanish while the supervisor looks at them.
void DenialStorm(Attempt& attempt) {
  const long threads = atol(attempt.words[0].c_str()), calls = atol(attempt.words[1].c_str());
  mkdir(attempt.words[2].c_str(), 0755);
  static char type[2][8] = {"tmpfs", "bogus"};
  static const char* volatile shown;
  shown = type[0];
  std::atomic<bool> done = false;
  std::atomic<long> succeeded = 0, refused = 0;
  std::thread changer([&] {
    for (int i = 0; !done; ++i) shown = type[i & 1];
  });
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  std::vector<std::thread> storm;
  for (long i = 0; i < threads; ++i)
    storm.emplace_back([&] {
      for (long left = calls; left > 0; --left) {
        const char* what = left % 4 == 0 ? type[0] : shown;  // some that do not depend on luck
        const long result = left % 2 != 0 ? mount("p", attempt.words[2].c_str(), what, 0, nullptr)
                                          : syscall(SYS_fsopen, what, 0);
        result >= 0 ? ++succeeded : ++refused;
      }
    });
  // Children that are killed in the middle of it: their notifications outlive them.
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) syscall(SYS_fsopen, "tmpfs", 0);
    poll(nullptr, 0, 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  for (std::thread& each : storm) each.join();
  done = true;
  changer.join();
  if (succeeded > 0) attempt.Got(fmt::format("{} denied calls succeeded", succeeded.load()));
  attempt.Set("calls", refused.load());
}

// Words: a directory. Small synchronous writes for as long as the judge looks around.
void IoStorm(Attempt& attempt) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string path = fmt::format("{}/storm-{}", attempt.words[0], getpid());
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      const std::string block(1 << 16, 'x');
      unlink(path.c_str());
      for (off_t at = 0;; at = (at + (1 << 16)) % (8 << 20)) {
        (void)!pwrite(fd, block.data(), block.size(), at);
        fsync(fd);
      }
    }
    if (child > 0) children.push_back(child);
  }
  attempt.ReadyAndHold();
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

// Words: how many. Each ends in a way that the kernel may write a line about.
void CrashStorm(Attempt& attempt) {
  for (long left = atol(attempt.words[0].c_str()); left > 0; --left) {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      volatile uintptr_t nowhere = 16;
      *reinterpret_cast<volatile int*>(nowhere) = 1;
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

// Words: a directory, how deep, how many entries in the deepest. Deeper than any path is long.
void DeepTree(Attempt& attempt) {
  int at = open(attempt.words[0].c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::string name(200, 'd');
  long depth = 0;
  for (; depth < atol(attempt.words[1].c_str()); ++depth) {
    if (mkdirat(at, name.c_str(), 0755) != 0) break;
    const int next = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(at);
    at = next;
  }
  long entries = 0;
  for (; entries < atol(attempt.words[2].c_str()); ++entries)
    if (symlinkat("/", at, fmt::format("{:0>250}", entries).c_str()) != 0) break;
  close(at);
  attempt.Set("depth", depth);
  attempt.Set("entries", entries);
}

// Words: files that hide something. Tries to get them out of the way until the judge is done.
void ReplaceMasks(Attempt& attempt) {
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  do {
    for (const std::string& path : attempt.words) {
      const std::string aside = path + "-aside";
      attempt.Try("rename " + path, rename(path.c_str(), aside.c_str()));
      attempt.Try("unlink " + path, unlink(path.c_str()));
      const std::string link = path + "-link";
      (void)!symlink("/proc/version", link.c_str());
      attempt.Try("replace " + path, rename(link.c_str(), path.c_str()));
      unlink(link.c_str());
    }
  } while (poll(&input, 1, 1) == 0);
}

constexpr Attack kAttacks[] = {{"denial-storm", DenialStorm},
                               {"io-storm", IoStorm},
                               {"crash-storm", CrashStorm},
                               {"deep-tree", DeepTree},
                               {"replace-masks", ReplaceMasks}};

}  // namespace

std::span<const Attack> StormAttacks() { return kAttacks; }

}  // namespace cloche::probe
