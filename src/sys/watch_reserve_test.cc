#include "sys/watch_reserve.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sys/process.h"

namespace cloche::sys {
namespace {

// Of all epoll descriptors of this process.
int WatchesHeld() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    for (std::string line; std::getline(info, line);) count += line.starts_with("tfd:") ? 1 : 0;
  }
  return count;
}

// From here on, the kernel has no watch left for this descriptor.
void LeaveNone(int epoll) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(epoll), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  SetNoNewPrivileges();
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) _exit(9);
}

TEST(WatchReserve, IsFreedWhenNoneIsLeftAndTakenAgain) {
  const pid_t child = fork();
  if (child == 0) {
    const int epoll = epoll_create1(EPOLL_CLOEXEC), file = eventfd(0, EFD_CLOEXEC);
    epoll_event event{};
    ReserveWatches();
    if (WatchesHeld() != 1024) _exit(1);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) != 0 || WatchesHeld() != 1025) _exit(2);
    LeaveNone(epoll);
    const int number = dup(file);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, number, &event) == 0 || errno != ENOSPC) _exit(3);
    if (WatchesHeld() != 1) _exit(4);  // all of the reserve was offered
    RefillWatches();
    _exit(WatchesHeld() == 17 ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "step " << WEXITSTATUS(status);
}

}  // namespace
}  // namespace cloche::sys
