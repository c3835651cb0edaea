#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>

#include "probe/attack.h"

namespace cloche::probe {
namespace {

// Words: paths of flags, tried from wherever we were started.
void ReadHere(Attempt& attempt) {
  std::string up;
  for (int i = 0; i < 40; ++i) up += "../";
  for (const std::string& flag : attempt.words)
    for (const std::string& path :
         {std::filesystem::path(flag).filename().string(), up + flag, "hidden/" + flag}) {
      const std::string text = ReadAll(path);
      text.empty() ? attempt.Refused() : attempt.Data(text);
    }
  char buffer[4096];
  // The kernel says "(unreachable)" where the root is not above.
  if (syscall(SYS_getcwd, buffer, sizeof buffer) < 0 || buffer[0] != '/')
    attempt.Got("stands outside of its root");
}

// Words: a marker. Reads "here" and leaves the marker beside it.
void UseDirectory(Attempt& attempt) {
  attempt.Data(ReadAll("here"));
  const int fd = open(attempt.words[0].c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return attempt.Refused();
  close(fd);
  attempt.Set("wrote", true);
}

// Words: a FIFO that nobody writes to.
void ReadSlowly(Attempt& attempt) {
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  const int fd = open(attempt.words[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
}

// Which terminals we have, and whether we can make them ours.
void OwnTerminal(Attempt& attempt) {
  const int controlling = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::string seen;
  for (const int fd : {0, 1, 2, controlling}) {
    struct stat info {};
    if (!isatty(fd) || fstat(fd, &info) != 0) continue;
    ioctl(fd, TIOCSCTTY, 1);
    tcsetpgrp(fd, getpgrp());
    // /dev/tty has an inode of its own; its session leads to the terminal behind it.
    seen += fmt::format("terminal {}:{}\n", info.st_dev, info.st_ino);
  }
  attempt.Data(seen);
}

constexpr Attack kAttacks[] = {{"read-here", ReadHere},
                               {"use-directory", UseDirectory},
                               {"read-slowly", ReadSlowly},
                               {"own-terminal", OwnTerminal}};

}  // namespace

std::span<const Attack> StartAttacks() { return kAttacks; }

}  // namespace cloche::probe
