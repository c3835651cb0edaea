#include "probe/launch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace cloche::probe {

volatile bool interrupted = false;

namespace {

constexpr int kPatienceMs = 120'000;  // a hang is a failure, slowness is not
constexpr size_t kMostOutput = 8 << 20;

int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

void WriteFile(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, text.data(), text.size());
  close(fd);
}

// All changes of the attack end with it, and it can reach nothing of the host.
void EnterThrowAwayNamespaces(const std::string& directory) {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
              CLONE_NEWPID | CLONE_NEWCGROUP) != 0)
    return;
  WriteFile("/proc/self/setgroups", "deny");
  WriteFile("/proc/self/uid_map", fmt::format("0 {} 1", uid));
  WriteFile("/proc/self/gid_map", fmt::format("0 {} 1", gid));
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  const std::string own = directory + "/own-mount";
  mkdir(own.c_str(), 0755);
  mount("probe", own.c_str(), "tmpfs", 0, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return;
  }
  int status = 0;
  waitpid(child, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

[[noreturn]] void Exec(const Launch& launch) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  if (!launch.directory.empty()) (void)!chdir(launch.directory.c_str());
  if (launch.user) {
    const auto id = *launch.user;
    (void)!setgroups(0, nullptr);
    if (setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0) _exit(126);
    prctl(PR_SET_DUMPABLE, 1);
  }
  for (const std::string& variable : launch.environment) putenv(strdup(variable.c_str()));
  if (launch.leak_directory) (void)!open("/", O_RDONLY | O_DIRECTORY);
  if (launch.namespaces) EnterThrowAwayNamespaces(launch.directory);
  std::vector<char*> argv;
  for (const std::string& word : launch.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  fprintf(stderr, "start %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}

int OpenTerminal(int& master) {
  master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  int unlock = 0;
  ioctl(master, TIOCSPTLCK, &unlock);
  return ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

}  // namespace

std::string Ran::LastError() const {
  std::string text = errors.empty() ? output : errors;
  while (text.ends_with('\n')) text.pop_back();
  if (const size_t at = text.find("cloche:"); at != std::string::npos) {
    text = text.substr(at);
    return text.substr(0, text.find('\n'));
  }
  return text.substr(text.find_last_of('\n') + 1).substr(0, 200);
}

Running::Running(const Launch& launch) : terminal_(launch.terminal) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  int master = -1, terminal = -1;
  if (terminal_) {
    terminal = OpenTerminal(master);
    struct stat info {};
    if (terminal < 0 || fstat(terminal, &info) != 0) return;
    terminal_id_ = fmt::format("{}:{}", info.st_dev, info.st_ino);
  } else if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
             pipe2(err, O_CLOEXEC) != 0) {
    return;
  }
  fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    if (terminal_) {
      setsid();
      ioctl(terminal, TIOCSCTTY, 0);
    }
    dup2(terminal_ ? terminal : in[0], STDIN_FILENO);
    dup2(terminal_ ? terminal : out[1], STDOUT_FILENO);
    dup2(terminal_ ? terminal : err[1], STDERR_FILENO);
    Exec(launch);
  }
  if (terminal_) {
    close(terminal);
    output_ = master;
    return;
  }
  close(in[0]);
  close(out[1]);
  close(err[1]);
  input_ = in[1];
  (void)!write(input_, launch.input.data(), launch.input.size());
  output_ = out[0];
  errors_ = err[0];
}

Running::~Running() {
  CloseInput();
  if (output_ >= 0) close(output_);
  if (errors_ >= 0) close(errors_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Running::CloseInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

bool Running::Alive() const {
  siginfo_t info{};
  return pid_ > 0 &&
         waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::string Running::TakeOutput() {
  while (open() && Pump(0)) {
  }
  return std::exchange(ran_.output, {});
}

bool Running::Pump(int deadline_ms) {
  pollfd fds[2] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
  if (poll(fds, 2, deadline_ms) <= 0) return false;
  const auto drain = [](short events, int& fd, std::string& into) {
    if (events == 0) return;
    char buffer[65536];
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count <= 0) {
      close(fd);
      fd = -1;
    } else if (into.size() < kMostOutput) {
      into.append(buffer, static_cast<size_t>(count));
    }
  };
  drain(fds[0].revents, output_, ran_.output);
  drain(fds[1].revents, errors_, ran_.errors);
  return true;
}

bool Running::WaitForLine(const std::string& line) {
  const int64_t deadline = NowMs() + kPatienceMs;
  while (!interrupted) {
    if (ran_.output.find(line) != std::string::npos) return true;
    const int64_t left = deadline - NowMs();
    if (!open() || left <= 0) return false;
    Pump(static_cast<int>(left));
  }
  return false;
}

Ran Running::Finish() {
  if (pid_ <= 0) return {};
  CloseInput();
  const int64_t deadline = NowMs() + kPatienceMs;
  while (open() && !interrupted && NowMs() < deadline) Pump(1000);
  int status = 0;
  pid_t ended = 0;
  // Both pipes closed means it is about to end; a child of its own may hold them open instead.
  while ((ended = waitpid(pid_, &status, WNOHANG)) == 0 && !interrupted && NowMs() < deadline)
    poll(nullptr, 0, 1);
  if (ended == pid_) {
    ran_.ended = true;
    ran_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
  }
  size_t at = ran_.output.find("{\"attack\"");
  if (at != std::string::npos) {
    const std::string line = ran_.output.substr(at, ran_.output.find_first_of("\r\n", at) - at);
    ran_.report = nlohmann::json::parse(line, nullptr, false);
  }
  return std::move(ran_);
}

}  // namespace cloche::probe
