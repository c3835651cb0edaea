#include "program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "series.h"

namespace cloche::bench {
namespace {

std::vector<char*> Pointers(const Argv& argv) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int NullDevice() {
  static const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  return fd;
}

void Expect(const Argv& argv, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw std::runtime_error(
      fmt::format("{} failed (wait status {:#x})", fmt::join(argv, " "), status));
}

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

pid_t Spawn(const Argv& argv, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, NullDevice(), 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  pid_t child = -1;
  const int error =
      posix_spawn(&child, argv[0].c_str(), &actions, nullptr, Pointers(argv).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(fmt::format("start {}: {}", argv[0], strerror(error)));
  return child;
}

}  // namespace

std::string FindProgram(const std::string& name) {
  const char* path = getenv("PATH");
  std::istringstream directories(std::string(path ? path : "") + ":/usr/bin:/bin:/usr/sbin:/sbin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string candidate = directory + "/" + name;
    if (directory.starts_with('/') && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

std::string Sibling(const std::string& name) {
  char buffer[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
  if (length <= 0) throw std::runtime_error("read /proc/self/exe");
  std::string path(buffer, static_cast<size_t>(length));
  return path.substr(0, path.rfind('/') + 1) + name;
}

double TimeSpawn(const Argv& argv) {
  const int null = NullDevice();
  const Stopwatch watch;
  const int status = WaitFor(Spawn(argv, null, null));
  const double ms = watch.Ms();
  Expect(argv, status);
  return ms;
}

double TimeSpawnMany(const Argv& argv, int count) {
  double ms = 0;
  for (int i = 0; i < count; ++i) ms += TimeSpawn(argv);
  return ms;
}

double TimeFork(const Argv& argv) {
  const std::vector<char*> pointers = Pointers(argv);
  const int null = NullDevice();
  const Stopwatch watch;
  const pid_t child = fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    execve(pointers[0], pointers.data(), environ);
    _exit(127);
  }
  const int status = WaitFor(child);
  const double ms = watch.Ms();
  Expect(argv, status);
  return ms;
}

std::string Capture(const Argv& argv) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("make a pipe");
  const pid_t child = Spawn(argv, fds[1], STDERR_FILENO);
  close(fds[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(fds[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(fds[0]);
  Expect(argv, WaitFor(child));
  return text;
}

}  // namespace cloche::bench
