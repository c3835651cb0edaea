#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe/attack.h"

namespace cloche::probe {
namespace {

struct Namespace {
  const char* name;
  int flag;
};
constexpr Namespace kNamespaces[] = {{"user", CLONE_NEWUSER}, {"mount", CLONE_NEWNS},
                                     {"pid", CLONE_NEWPID},   {"net", CLONE_NEWNET},
                                     {"ipc", CLONE_NEWIPC},   {"uts", CLONE_NEWUTS},
                                     {"time", 0x80},          {"cgroup", CLONE_NEWCGROUP}};

void NewNamespaces(Attempt& attempt) {
  InChild(
      [](Attempt& child) {
        for (const Namespace& space : kNamespaces)
          child.Try(fmt::format("unshare {}", space.name), unshare(space.flag));
      },
      attempt);
  for (const Namespace& space : kNamespaces) {
    if (space.flag == 0x80) continue;  // not a flag of clone: the low byte is a signal
    const long child = syscall(SYS_clone, static_cast<long>(space.flag) | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    if (attempt.Try(fmt::format("clone {}", space.name), child))
      waitpid(static_cast<pid_t>(child), nullptr, 0);
    clone_args arguments{};
    arguments.flags = static_cast<uint64_t>(space.flag);
    arguments.exit_signal = SIGCHLD;
    const long third = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (third == 0) _exit(0);
    if (attempt.Try(fmt::format("clone3 {}", space.name), third))
      waitpid(static_cast<pid_t>(third), nullptr, 0);
  }
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    const int fd = open(fmt::format("/proc/self/ns/{}", name).c_str(), O_RDONLY | O_CLOEXEC);
    attempt.Try(fmt::format("setns {}", name), setns(fd, 0));
    close(fd);
  }
}

void NestedPower(Attempt& attempt) {
  InChild(
      [](Attempt& child) {
        if (!child.Try("unshare user+net+mount",
                       unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS)))
          return;
        child.Try("nested tmpfs", mount("probe", "/", "tmpfs", 0, nullptr));
        child.Try("nested AF_PACKET", socket(AF_PACKET, SOCK_RAW, 0));
        child.Try("nested AF_NETLINK netfilter", socket(AF_NETLINK, SOCK_RAW, 12));
      },
      attempt);
}

// Words are process ids.
void TakeOver(Attempt& attempt) {
  for (const std::string& word : attempt.words) {
    const pid_t pid = atoi(word.c_str());
    if (pid == getpid()) continue;
    if (attempt.Try("ptrace " + word, ptrace(PTRACE_SEIZE, pid, nullptr, nullptr)))
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    char byte;
    iovec local{&byte, 1}, remote{reinterpret_cast<void*>(0x400000), 1};
    attempt.Try("process_vm_readv " + word, process_vm_readv(pid, &local, 1, &remote, 1, 0));
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (pidfd < 0) {
      attempt.Refused();
      continue;
    }
    attempt.Try("pidfd_getfd " + word, syscall(SYS_pidfd_getfd, pidfd, 0, 0));
    attempt.Try("setns of " + word, setns(pidfd, CLONE_NEWNS));
    close(pidfd);
  }
}

// Words are process ids of the host. SIGURG, because nobody dies of it; "all" adds kill(-1).
void Signals(Attempt& attempt) {
  for (const std::string& word : attempt.words) {
    if (word == "all") {
      signal(SIGURG, SIG_IGN);
      kill(-1, SIGURG);
      kill(1, SIGSTOP);
      kill(1, SIGKILL);
      continue;
    }
    const pid_t pid = atoi(word.c_str());
    if (pid == getpid()) continue;
    kill(pid, SIGURG);
    kill(-pid, SIGURG);
    syscall(SYS_tgkill, pid, pid, SIGURG);
    sigval value{};
    sigqueue(pid, SIGURG, value);
  }
}

// Words: a pid, and a file name to leave a mark with. The program behind /proc/PID/exe cannot be
// opened for writing while it runs; a path handle outlives it.
void OverwriteProgram(Attempt& attempt) {
  const std::string exe = "/proc/" + attempt.words[0] + "/exe";
  const int kept = open(exe.c_str(), O_PATH | O_CLOEXEC);
  attempt.ReadyAndHold();
  if (kept < 0) return attempt.Refused();
  const std::string again = fmt::format("/proc/self/fd/{}", kept);
  attempt.Try("reopened " + exe, open(again.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
}

void Cgroups(Attempt& attempt) {
  Walk("/sys/fs/cgroup", 3, [&](const std::string& path) {
    struct stat info {};
    if (access(path.c_str(), W_OK) == 0 && stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
      attempt.Got(path);
  });
  InChild(
      [](Attempt& child) {
        child.Try("unshare user+cgroup+mount",
                  unshare(CLONE_NEWUSER | CLONE_NEWCGROUP | CLONE_NEWNS));
        const std::string at = fmt::format("{}/cgroup-{}", child.words[0], getpid());
        mkdir(at.c_str(), 0755);
        child.Try("mount cgroup2", mount("c", at.c_str(), "cgroup2", 0, nullptr));
        for (const char* controller : {"memory", "rdma", "pids", "devices", "none,name=probe"})
          child.Try(fmt::format("mount cgroup {}", controller),
                    mount("c", at.c_str(), "cgroup", 0, controller));
      },
      attempt);
}

// "light" does not crash: the host's core handler would store what we leave.
void CoreDumps(Attempt& attempt) {
  InChild(
      [](Attempt& child) {
        const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
        rlimit now{};
        getrlimit(RLIMIT_CORE, &now);
        if (now.rlim_max != 0) child.Got("core files are not limited to nothing");
        child.Try("raised RLIMIT_CORE", setrlimit(RLIMIT_CORE, &unlimited));
      },
      attempt);
  if (!attempt.words.empty()) return;
  const pid_t crashing = fork();
  if (crashing == 0) {
    const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &unlimited);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    _exit(0);
  }
  int status = 0;
  waitpid(crashing, &status, 0);
  if (WCOREDUMP(status)) attempt.Got("dumped core");
}

void Terminals(Attempt& attempt) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  int unlock = 0, number = 0;
  ioctl(master, TIOCSPTLCK, &unlock);
  ioctl(master, TIOCGPTN, &number);
  const int terminal =
      open(fmt::format("/dev/pts/{}", number).c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  for (const int fd : {terminal, STDIN_FILENO}) {
    if (!isatty(fd)) continue;
    char letter = 'x';
    int discipline = 0, line = 6;
    const unsigned long high = 0xdead00000000;
    attempt.Try("TIOCSTI", ioctl(fd, TIOCSTI, &letter));
    attempt.Try("TIOCSTI with high bits", syscall(SYS_ioctl, fd, TIOCSTI | high, &letter));
    attempt.Try("TIOCSETD", ioctl(fd, TIOCSETD, &discipline));
    attempt.Try("TIOCSETD with high bits", syscall(SYS_ioctl, fd, TIOCSETD | high, &discipline));
    attempt.Try("TIOCLINUX", ioctl(fd, TIOCLINUX, &line));
  }
}

// Words: a SysV key, the name of a POSIX object.
void SharedMemory(Attempt& attempt) {
  const auto attach = [&](int id) {
    const void* memory = shmat(id, nullptr, SHM_RDONLY);
    if (memory == reinterpret_cast<void*>(-1)) return attempt.Refused();
    attempt.Data(std::string_view(static_cast<const char*>(memory), 256));
    shmdt(memory);
  };
  attach(shmget(static_cast<key_t>(strtol(attempt.words[0].c_str(), nullptr, 10)), 0, 0));
  for (int id = 0; id < 64; ++id) attach(id);
  attempt.Data(ReadAll("/proc/sysvipc/shm"));
  attempt.Data(ReadAll("/dev/shm/" + attempt.words[1]));
  const int fd = shm_open(("/" + attempt.words[1]).c_str(), O_RDONLY, 0);
  if (fd < 0) return attempt.Refused();
  char text[256];
  if (const ssize_t count = read(fd, text, sizeof text); count > 0)
    attempt.Data(std::string_view(text, static_cast<size_t>(count)));
  close(fd);
}

// Words: names without their leading zero byte.
void AbstractSockets(Attempt& attempt) {
  for (const std::string& name : attempt.words)
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      memcpy(address.sun_path + 1, name.data(), name.size());
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
      if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0)
        (void)!send(fd, "x", 1, MSG_NOSIGNAL);
      else
        attempt.Refused();
      close(fd);
    }
}

// Words: a token that the judge finds in the list of processes, and this program. Survivors: a
// daemon, one that is stopped, one that ignores what can be ignored.
void Orphans(Attempt& attempt) {
  for (const char* kind : {"daemon", "stopped", "deaf"}) {
    if (fork() != 0) continue;
    setsid();
    if (fork() != 0) _exit(0);
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
    for (int fd = 0; fd < 64; ++fd) close(fd);
    for (int fd = 0; fd < 3; ++fd) (void)!open("/dev/null", O_RDWR);
    execl(attempt.words[1].c_str(), "orphan", "--attack", "linger", attempt.words[0].c_str(), kind,
          nullptr);
    _exit(1);
  }
  for (int left = 3; left > 0; --left) wait(nullptr);
}

void Linger(Attempt& attempt) {
  if (attempt.words.size() > 1 && attempt.words[1] == "stopped") raise(SIGSTOP);
  for (;;) pause();
}

// To the values they have already.
void ClockAndName(Attempt& attempt) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  attempt.Try("clock_settime", clock_settime(CLOCK_REALTIME, &now));
  timex adjust{};
  adjust.modes = ADJ_OFFSET;
  attempt.Try("adjtimex", adjtimex(&adjust));
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  attempt.Try("sethostname", sethostname(name, strlen(name)));
}

void Personalities(Attempt& attempt) {
  InChild(
      [](Attempt& child) {
        for (const unsigned long value :
             {0x0400000ul /* READ_IMPLIES_EXEC */, 0x0100000ul /* MMAP_PAGE_ZERO */,
              0x0200000ul /* ADDR_COMPAT_LAYOUT */})
          child.Try(fmt::format("personality {:#x}", value), personality(value));
      },
      attempt);
}

constexpr Attack kAttacks[] = {
    {"new-namespaces", NewNamespaces},
    {"nested-power", NestedPower},
    {"take-over", TakeOver},
    {"signals", Signals},
    {"overwrite-program", OverwriteProgram},
    {"cgroups", Cgroups},
    {"core-dumps", CoreDumps},
    {"terminals", Terminals},
    {"shared-memory", SharedMemory},
    {"abstract-sockets", AbstractSockets},
    {"orphans", Orphans},
    {"linger", Linger},
    {"clock-and-name", ClockAndName},
    {"personalities", Personalities},
};

}  // namespace

std::span<const Attack> ProcessAttacks() { return kAttacks; }

}  // namespace cloche::probe
