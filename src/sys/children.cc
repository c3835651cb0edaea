#include "sys/children.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <atomic>

namespace cloche::sys {
namespace {

struct Ended {
  std::atomic<pid_t> pid;
  std::atomic<int> status;
};
constexpr unsigned kRemembered = 64;
Ended ended[kRemembered];
std::atomic<unsigned> next;

void Reap(int) {
  const int before = errno;
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    Ended& place = ended[next++ % kRemembered];
    place.status = status;
    place.pid = pid;
  }
  errno = before;
}

std::string Describe(int status) {
  if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return "killed by signal " + std::to_string(WTERMSIG(status)) +
         (name ? " (SIG" + std::string(name) + ")" : "");
}

}  // namespace

void ReapChildren() {
  struct sigaction action {};
  action.sa_handler = Reap;
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  sigaction(SIGCHLD, &action, nullptr);
}

std::string HowItEnded(pid_t child) {
  for (int patience = 0; patience < 100; ++patience) {
    for (const Ended& each : ended)
      if (each.pid == child) return Describe(each.status);
    const timespec moment{0, 10'000'000};
    nanosleep(&moment, nullptr);
  }
  return "";
}

}  // namespace cloche::sys
