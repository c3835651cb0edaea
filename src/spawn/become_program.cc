#include "spawn/become_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/fd.h"
#include "sys/process.h"

namespace cloche::spawn {
namespace {

// The path of a program installed beside ours.
std::string ProgramBeside(const char* name) {
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0) return "";
  self[size] = '\0';
  char* slash = strrchr(self, '/');
  if (!slash) return "";
  *slash = '\0';
  return std::string(self) + "/" + name;
}

// Puts exactly these descriptors at kFirstPassedFd and up, in this order. They are moved out of the
// way first.
int ArrangeDescriptors(const std::vector<int>& wanted) {
  const int above = kFirstPassedFd + static_cast<int>(wanted.size());
  std::vector<int> copies;
  for (int fd : wanted) {
    const int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD, above);
    if (fd >= 0 && copy < 0) return -errno;
    copies.push_back(copy);
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    const int target = kFirstPassedFd + static_cast<int>(i);
    if (copies[i] < 0)
      close(target);
    else if (dup2(copies[i], target) < 0)
      return -errno;
  }
  return sys::CloseFrom(static_cast<unsigned>(above));
}

}  // namespace

int Complain(int fd, const std::string& what, int error) {
  dprintf(fd, "%s: %s\n", what.c_str(), strerror(error));
  return 1;
}

int BecomeProgram(const char* name, const std::vector<int>& fds, int complaints,
                  const std::function<int()>& lose_rights) {
  const std::string program = ProgramBeside(name);
  const sys::Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (dup2(null.get(), fd) < 0) return Complain(complaints, "open /dev/null", errno);
  // Keeps accidental output out of the daemon's log.
  if (dup2(complaints >= 0 ? complaints : null.get(), STDERR_FILENO) < 0)
    return Complain(complaints, "arrange descriptors", errno);
  if (int error = ArrangeDescriptors(fds); error < 0)
    return Complain(STDERR_FILENO, "arrange descriptors", -error);
  if (int error = lose_rights(); error < 0)
    return Complain(STDERR_FILENO, "become another user", -error);
  const char* arguments[] = {name, nullptr};
  const char* environment[] = {nullptr};
  execve(program.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
  return Complain(STDERR_FILENO, name, errno);
}

}  // namespace cloche::spawn
