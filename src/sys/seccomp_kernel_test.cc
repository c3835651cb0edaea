#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "sys/fd.h"
#include "sys/message.h"
#include "sys/seccomp.h"
#include "sys/seccomp_decide.h"
#include "sys/seccomp_listener.h"

namespace cloche::sys {
namespace {

// The actions of a process under the filter, as its supervisor saw them.
struct Confined {
  int status = 0;
  pid_t pid = 0;
  std::vector<SeccompNotification> denied;
};

// Runs `body` in a child under the real filter; its return value is the exit status.
Confined RunConfined(const std::function<int()>& body, bool supervise = true) {
  Confined result;
  int pair[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  Fd ours(pair[0]), theirs(pair[1]);
  const SeccompProgram program = CompileSandboxFilter();
  const sock_fprog loaded{static_cast<unsigned short>(program.code.size()),
                          const_cast<sock_filter*>(program.code.data())};
  result.pid = fork();
  if (result.pid == 0) {
    ours.Reset();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int listener = InstallSeccomp(loaded);
    if (listener < 0) _exit(200);
    char byte = 0;
    if (SendMessage(theirs.get(), &byte, 1, {&listener, 1}) != 1) _exit(201);
    close(listener);
    if (read(theirs.get(), &byte, 1) != (supervise ? 1 : 0)) _exit(202);
    _exit(body());
  }
  theirs.Reset();
  char byte = 0;
  int fds[1] = {-1};
  int count = 0;
  EXPECT_EQ(ReceiveMessage(ours.get(), &byte, 1, fds, count), 1);
  Fd listener(count == 1 ? fds[0] : -1);
  EXPECT_TRUE(listener.valid());
  if (supervise) {
    EXPECT_EQ(write(ours.get(), "x", 1), 1);
  } else {
    listener.Reset();
    ours.Reset();
  }
  // Before 6.11, the listener hangs up only once its last process was waited for.
  const Fd child(static_cast<int>(syscall(SYS_pidfd_open, result.pid, 0)));
  while (listener.valid()) {
    pollfd waiting[] = {{listener.get(), POLLIN, 0}, {child.get(), POLLIN, 0}};
    poll(waiting, 2, -1);
    if ((waiting[0].revents & POLLIN) == 0) break;
    SeccompNotification notification;
    if (ReceiveNotification(listener.get(), notification) != 0) continue;
    const Verdict verdict = Decide(kNativeAbi, notification.number, notification.arguments);
    EXPECT_TRUE(verdict.notified());
    if (verdict.supplied()) {
      const Fd given(static_cast<int>(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
      EXPECT_EQ(notification.arguments[1] == SOCK_DGRAM
                    ? ContinueNotification(listener.get(), notification.id)
                    : SupplyDescriptor(listener.get(), notification.id, given.get(), true),
                0);
      continue;
    }
    result.denied.push_back(notification);
    EXPECT_EQ(DenyNotification(listener.get(), notification.id, verdict.error), 0);
  }
  EXPECT_EQ(waitpid(result.pid, &result.status, 0), result.pid);
  return result;
}

int ErrnoOf(long value) { return value < 0 ? errno : 0; }
int Exited(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

TEST(SeccompKernel, UnshareIsRefusedAndTheSupervisorLearnsWhoCalledItHow) {
  const Confined run = RunConfined([] { return ErrnoOf(unshare(CLONE_NEWUSER | CLONE_NEWNS)); });
  EXPECT_EQ(Exited(run.status), EPERM);
  ASSERT_EQ(run.denied.size(), 1u);
  EXPECT_EQ(run.denied[0].number, SYS_unshare);
  EXPECT_EQ(run.denied[0].arguments[0], uint64_t{CLONE_NEWUSER | CLONE_NEWNS});
  EXPECT_EQ(run.denied[0].pid, static_cast<uint32_t>(run.pid));
}

TEST(SeccompKernel, EachDeniedCallFailsWithTheErrnoOfTheTable) {
  struct Case {
    const char* what;
    std::function<long()> call;
    int error;
    size_t notified;
  };
  const Case cases[] = {
      {"AF_ALG", [] { return socket(38, SOCK_SEQPACKET, 0); }, EAFNOSUPPORT, 1},
      {"AF_PACKET", [] { return socket(AF_PACKET, SOCK_RAW, 0); }, EPERM, 1},
      {"raw", [] { return socket(AF_INET, SOCK_RAW, 255); }, EPERM, 1},
      {"netlink audit", [] { return socket(AF_NETLINK, SOCK_RAW, 9); }, EPROTONOSUPPORT, 0},
      {"multipath", [] { return socket(AF_INET, SOCK_STREAM, 262); }, EPROTONOSUPPORT, 0},
      {"keyctl", [] { return syscall(SYS_keyctl, 0, 0, 0, 0, 0); }, ENOSYS, 0},
      {"clone3", [] { return syscall(SYS_clone3, nullptr, 0); }, ENOSYS, 0},
      {"io_uring", [] { return syscall(SYS_io_uring_setup, 1, nullptr); }, ENOSYS, 0},
      {"future", [] { return syscall(599); }, ENOSYS, 0},
      {"mount", [] { return mount("t", "/mnt", "tmpfs", 0, nullptr); }, EPERM, 1},
      {"device node", [] { return mknod("/tmp/cloche-n", S_IFCHR | 0600, 0x103); }, EPERM, 1},
      {"TIOCSTI", [] { return ioctl(0, TIOCSTI, "x"); }, EPERM, 1},
      {"TIOCSTI + garbage", [] { return syscall(SYS_ioctl, 0, TIOCSTI | 0x100000000ull, "x"); },
       EPERM, 1},
      {"bpf", [] { return syscall(SYS_bpf, 5, nullptr, 0); }, EPERM, 1},
      {"listener",
       [] {
         sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
         sock_fprog nested{1, &allow};
         return syscall(SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, &nested);
       },
       EBUSY, 1},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const Confined run = RunConfined([&] { return ErrnoOf(test.call()); });
    EXPECT_EQ(Exited(run.status), test.error);
    EXPECT_EQ(run.denied.size(), test.notified);
  }
}

TEST(SeccompKernel, TheSupervisorPutsASocketInPlaceOrLetsItBeMade) {
  const Confined run = RunConfined([] {
    const int given = socket(AF_NETLINK, SOCK_RAW, 0), made = socket(AF_NETLINK, SOCK_DGRAM, 0);
    int type = 0;
    socklen_t size = sizeof type;
    if (given < 0 || made < 0 || getsockopt(given, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
      return 1;
    if (type != SOCK_DGRAM) return 2;  // the supervisor's, not the requested one
    if ((fcntl(given, F_GETFD) & FD_CLOEXEC) == 0 || (fcntl(made, F_GETFD) & FD_CLOEXEC) != 0)
      return 3;
    return 0;
  });
  EXPECT_EQ(Exited(run.status), 0);
}

TEST(SeccompKernel, DeniedCallFailsWhenTheSupervisorIsGone) {
  const Confined run = RunConfined([] { return ErrnoOf(mount("t", "/mnt", "tmpfs", 0, nullptr)); },
                                   /*supervise=*/false);
  EXPECT_EQ(Exited(run.status), ENOSYS);
}

TEST(SeccompKernel, OrdinaryProcessesRunWithoutADenial) {
  const Confined run = RunConfined([] {
    const pid_t child = fork();
    if (child == 0) {
      execlp("sh", "sh", "-c", "echo hello | tr a-z A-Z >/dev/null && ls / >/dev/null", nullptr);
      _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return 100;
    return WEXITSTATUS(status);
  });
  EXPECT_EQ(Exited(run.status), 0);
  EXPECT_TRUE(run.denied.empty());
}

TEST(SeccompKernel, ChildrenMayBeTraced) {
  const Confined run = RunConfined([] {
    const pid_t child = fork();
    if (child == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 100;
    if (ptrace(PTRACE_CONT, child, nullptr, nullptr) != 0) return 101;
    if (waitpid(child, &status, 0) != child) return 102;
    return WEXITSTATUS(status);
  });
  EXPECT_EQ(Exited(run.status), 0);
  EXPECT_TRUE(run.denied.empty());
}

#ifdef __x86_64__
TEST(SeccompKernel, ThirtyTwoBitCallsKillTheProcess) {
  const Confined run = RunConfined([] {
    long result = 20;  // getpid of i386
    asm volatile("int $0x80" : "+a"(result) : : "memory");
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(run.status));
  EXPECT_EQ(WTERMSIG(run.status), SIGSYS);
}

TEST(SeccompKernel, X32CallsKillTheProcess) {
  const Confined run = RunConfined([] {
    syscall(0x40000000 | SYS_getpid);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(run.status));
  EXPECT_EQ(WTERMSIG(run.status), SIGSYS);
}
#endif

}  // namespace
}  // namespace cloche::sys
