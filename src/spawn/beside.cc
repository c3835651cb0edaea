#include "spawn/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "sys/process.h"

namespace cloche::spawn {

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

// They are moved out of the way first.
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

}  // namespace cloche::spawn
