#include "cli/pager.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "cli/print.h"

namespace cloche::cli {
namespace {

std::string PagerCommand() {
  for (const char* name : {"CLOCHE_PAGER", "PAGER"})
    if (const char* value = getenv(name)) return value;
  return "less";
}

}  // namespace

Pager::Pager() : terminal_(isatty(STDOUT_FILENO) == 1), fd_(STDOUT_FILENO) {
  const std::string command = terminal_ ? PagerCommand() : "";
  int ends[2];
  if (command.empty() || command == "cat" || pipe2(ends, O_CLOEXEC) < 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[0], STDIN_FILENO);
    // As git does it: leave at once when all of it fits, pass colours, keep the screen.
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(ends[0]);
  if (pid_ < 0) {
    close(ends[1]);
    return;
  }
  fd_ = ends[1];
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN);  // the pager's
}

Pager::~Pager() {
  if (pid_ <= 0) return;
  close(fd_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Pager::Write(std::string_view text) { WriteAll(fd_, text); }

}  // namespace cloche::cli
