#include "sys/apparmor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fd.h"

namespace cloche::sys {
namespace {

// Not attr/current, which belongs to the first security module, whichever that is.
constexpr char kAttribute[] = "/proc/thread-self/attr/apparmor/current";
constexpr char kChange[] = "changeprofile cloche-sandbox";
constexpr char kConfined[] = "cloche-sandbox (enforce)\n";

// -EINVAL if the kernel has AppArmor but it is switched off.
long ReadLabel(char* label, size_t size) {
  Fd file(open(kAttribute, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return -errno;
  long got = read(file.get(), label, size);
  return got < 0 ? -errno : got;
}

}  // namespace

int EnterAppArmor() {
  Fd file(open(kAttribute, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return -errno;
  if (write(file.get(), kChange, sizeof kChange - 1) < 0) return -errno;
  char label[256];
  long size = ReadLabel(label, sizeof label);
  if (size < 0) return static_cast<int>(size);
  if (size != sizeof kConfined - 1 || memcmp(label, kConfined, sizeof kConfined - 1) != 0)
    return -EPERM;
  return 0;
}

AppArmor FindAppArmor() {
  char label[256];
  if (ReadLabel(label, sizeof label) < 0) return AppArmor::kInactive;
  pid_t child = fork();
  if (child == 0) _exit(EnterAppArmor() == 0 ? 0 : 1);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? AppArmor::kReady
                                                                    : AppArmor::kNoProfile;
}

}  // namespace cloche::sys
