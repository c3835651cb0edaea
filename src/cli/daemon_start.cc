#include "cli/daemon_start.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <vector>

#include "cli/print.h"
#include "sys/fd.h"

namespace cloche::cli {
namespace {

constexpr int kReadyFd = 3;
constexpr double kPatienceMs = 60'000;

struct Pipe {
  sys::Fd read;
  sys::Fd write;
};

Result<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return Fail(Code::kUnavailable, fmt::format("make a pipe: {}", strerror(errno)));
  Pipe made{sys::Fd(fds[0]), sys::Fd(fds[1])};
  // The child moves them to 0 to 3 and must not overwrite one with another.
  sys::Fd high(fcntl(made.write.get(), F_DUPFD_CLOEXEC, 16));
  if (high.valid()) made.write = std::move(high);
  return made;
}

// The daemon outlives this command: it gets what it needs to work, not the caller's secrets.
std::vector<char*> DaemonEnvironment() {
  constexpr std::array<std::string_view, 8> kNames = {
      "PATH=", "HOME=", "USER=", "LOGNAME=", "LANG=", "TMPDIR=", "TZ=", "SSL_CERT_FILE="};
  constexpr std::array<std::string_view, 8> kPrefixes = {"XDG_",  "CLOCHE_", "DBUS_", "LC_",
                                                         "ASAN_", "UBSAN_",  "LSAN_", "TSAN_"};
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto begins = [text](std::string_view start) { return text.starts_with(start); };
    if (std::ranges::any_of(kNames, begins) || std::ranges::any_of(kPrefixes, begins))
      kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  return kept;
}

[[noreturn]] void BecomeDaemon(const char* program, char* const* argv, char* const* env,
                               int ready_fd, int stderr_fd) {
  setsid();
  // The second fork makes it nobody's child and no session leader, so it never gets a terminal.
  if (fork() != 0) _exit(0);
  // A script's `cloche ... &` ignores SIGINT, nohup ignores SIGHUP; every sandbox would inherit
  // that.
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(stderr_fd, STDERR_FILENO);
  dup2(ready_fd, kReadyFd);
  // Other descriptors of the caller would stay open for as long as the daemon lives.
  close_range(kReadyFd + 1, UINT_MAX, 0);
  (void)!chdir("/");
  umask(022);
  execve(program, argv, env);
  dprintf(kReadyFd, "start %s: %s\n", program, strerror(errno));
  _exit(127);
}

// The daemon's output on its ready fd and, in case it dies, on standard error.
struct Announcement {
  std::string ready;
  std::string errors;
  bool timed_out = false;
};

Announcement Listen(const Pipe& ready, const Pipe& errors) {
  Announcement heard;
  const double deadline = SinceStartMs() + kPatienceMs;
  pollfd fds[2] = {{ready.read.get(), POLLIN, 0}, {errors.read.get(), POLLIN, 0}};
  const auto drain = [](pollfd& fd, std::string& into) {
    char buffer[4096];
    const ssize_t count = read(fd.fd, buffer, sizeof buffer);
    if (count > 0) into.append(buffer, static_cast<size_t>(count));
    if (count == 0) fd.fd = -1;
  };
  while (heard.ready.find('\n') == std::string::npos && fds[0].fd >= 0) {
    const double left = deadline - SinceStartMs();
    if (left <= 0) {
      heard.timed_out = true;
      break;
    }
    if (poll(fds, 2, static_cast<int>(left) + 1) < 0 && errno != EINTR) break;
    if (fds[1].revents != 0) drain(fds[1], heard.errors);
    if (fds[0].revents != 0) drain(fds[0], heard.ready);
  }
  if (fds[1].fd >= 0 && poll(&fds[1], 1, 0) > 0) drain(fds[1], heard.errors);
  return heard;
}

std::string LastLine(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

std::string FindSibling(const std::string& name) {
  char buffer[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
  std::vector<std::string> candidates;
  if (length > 0) {
    std::string directory(buffer, static_cast<size_t>(length));
    directory.erase(directory.find_last_of('/'));
    candidates = {directory + "/" + name, directory + "/../libexec/cloche/" + name};
  }
  candidates.push_back(CLOCHE_LIBEXECDIR "/" + name);
  for (const std::string& path : candidates)
    if (access(path.c_str(), X_OK) == 0) return path;
  return "";
}

Status StartDaemonAt(const std::string& socket_path) {
  std::string program = FindSibling("cloched");
  if (program.empty())
    return Fail(Code::kUnavailable, "start cloched: it is not installed beside cloche",
                "install Cloche completely (make install)");
  ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  ASSIGN_OR_RETURN(Pipe errors, MakePipe());
  std::string words[] = {"cloched", "--socket", socket_path, "--ready-fd",
                         std::to_string(kReadyFd)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::vector<char*> env = DaemonEnvironment();

  const pid_t child = fork();
  if (child < 0) return Fail(Code::kUnavailable, fmt::format("fork: {}", strerror(errno)));
  if (child == 0)
    BecomeDaemon(program.c_str(), argv.data(), env.data(), ready.write.get(), errors.write.get());
  ready.write = sys::Fd();
  errors.write = sys::Fd();
  waitpid(child, nullptr, 0);

  const Announcement heard = Listen(ready, errors);
  if (heard.ready == "ok\n") return {};
  std::string reason = LastLine(heard.ready);
  if (reason.empty()) reason = LastLine(heard.errors);
  if (reason.empty()) reason = heard.timed_out ? "it does not get ready" : "it ended at once";
  const size_t tab = reason.find('\t');  // "message<TAB>cure"
  return Fail(Code::kUnavailable, fmt::format("start cloched: {}", reason.substr(0, tab)),
              tab == std::string::npos ? "" : reason.substr(tab + 1));
}

}  // namespace cloche::cli
