#include "pipeline/child.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file.h"
#include "sys/process.h"

namespace cloche::pipeline {
namespace {

constexpr int kPatienceMs = 5000;  // between asking it to end and making it end

[[noreturn]] void Become(const Launch& launch, int gate) {
  setpgid(0, 0);
  char go = 0;
  ssize_t got = 0;
  while ((got = read(gate, &go, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1) _exit(126);  // whoever prepared us is gone
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(launch.log, STDOUT_FILENO);
  dup2(launch.log, STDERR_FILENO);
  sys::CloseFrom(3);
  for (const std::string& each : launch.variables) putenv(strdup(each.c_str()));
  if (chdir(launch.directory.c_str()) != 0) {
    dprintf(STDERR_FILENO, "cd %s: %s\n", launch.directory.c_str(), strerror(errno));
    _exit(126);
  }
  std::vector<char*> argv;
  for (const std::string& word : launch.argv) argv.push_back(strdup(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "start %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}

}  // namespace

Result<Child> Child::Prepare(const Launch& launch) {
  int gate[2];
  if (pipe2(gate, O_CLOEXEC) < 0)
    return Fail(Code::kUnavailable, fmt::format("make pipe: {}", strerror(errno)));
  const sys::Fd closed(gate[0]);
  Child child;
  child.gate_ = sys::Fd(gate[1]);
  child.pid_ = fork();
  if (child.pid_ < 0) {
    child.pid_ = 0;
    return Fail(Code::kUnavailable, fmt::format("start a command: {}", strerror(errno)));
  }
  if (child.pid_ == 0) {
    close(gate[1]);  // or it would wait for itself
    Become(launch, gate[0]);
  }
  setpgid(child.pid_, child.pid_);
  child.pidfd_ = sys::Fd(sys::OpenPidfd(child.pid_));
  if (!child.pidfd_.valid())
    return Fail(Code::kUnavailable, "watch a command: the kernel gives no pidfd");
  return child;
}

void Child::LetGo() {
  (void)!write(gate_.get(), "g", 1);
  gate_ = sys::Fd();
}

int Child::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Child::End() {
  if (pid_ <= 0) return;
  gate_ = sys::Fd();
  kill(-pid_, SIGTERM);
  pollfd ended = {pidfd_.get(), POLLIN, 0};
  if (poll(&ended, 1, kPatienceMs) <= 0) kill(-pid_, SIGKILL);
  (void)Wait();
}

uint64_t StartOf(pid_t pid) {
  std::string text;
  if (sys::ReadFileAt(AT_FDCWD, fmt::format("/proc/{}/stat", pid).c_str(), text) < 0) return 0;
  // The name may hold anything; the text after it does not.
  const size_t after = text.rfind(')');
  if (after == std::string::npos) return 0;
  size_t at = after + 1;
  for (int field = 3; field <= 22; ++field) {
    at = text.find_first_not_of(' ', at);
    if (at == std::string::npos) return 0;
    if (field == 22) return strtoull(text.c_str() + at, nullptr, 10);
    if (field == 3 && text[at] == 'Z') return 0;
    at = text.find(' ', at);
  }
  return 0;
}

}  // namespace cloche::pipeline
