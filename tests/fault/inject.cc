// Lets one set-up step of a sandbox fail. `cloche-inject OUTPUT SPAWN-PID WHICH ERROR COMMAND...`
// traces cloche-spawn while COMMAND asks it for a sandbox: every system call that spawn makes for
// the launch, then the child, init and the command's process up to its execve, is a step. WHICH is
// the number of the step that fails, or the name of a kind, all of which fail, or 0 for none.
// Nothing in the shipped programs knows about it. OUTPUT gets the steps, one "who call@place" a
// line; what failed has a "!" in front. Steps of one place are rounds of one loop: the same call in
// the same function, at the same depth of the stack.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "fail_call.h"
#include "sys/seccomp_decide.h"

namespace {

enum class Role { kSpawn, kChild, kCommand };

struct Tracee {
  Role role = Role::kSpawn;
  bool stranger = false;
  int error = 0;  // to be returned by the call it is in
};

// They cannot fail, or their failing means something else than a failed step.
bool IsStep(long number) {
  static const std::set<long> kNone = {
      SYS_close,          SYS_exit,   SYS_exit_group,    SYS_rt_sigaction, SYS_rt_sigprocmask,
      SYS_rt_sigreturn,   SYS_getpid, SYS_gettid,        SYS_getppid,      SYS_getuid,
      SYS_geteuid,        SYS_getgid, SYS_getegid,       SYS_umask,        SYS_brk,
      SYS_mmap,           SYS_munmap, SYS_mprotect,      SYS_madvise,      SYS_mremap,
      SYS_poll,           SYS_ppoll,  SYS_epoll_wait,    SYS_epoll_pwait,  SYS_wait4,
      SYS_waitid,         SYS_futex,  SYS_clock_gettime, SYS_gettimeofday, SYS_time,
      SYS_restart_syscall};
  return !kNone.contains(number);
}

std::string NameOf(const __ptrace_syscall_info& info) {
  const long number = static_cast<long>(info.entry.nr);
  const char* known = cloche::sys::SyscallName(static_cast<int>(number));
  std::string name = known != nullptr ? known : "syscall_" + std::to_string(number);
  if (number == SYS_prctl || number == SYS_seccomp)
    name += "-" + std::to_string(info.entry.args[0]);
  if (number == SYS_ioctl) name += "-" + std::to_string(info.entry.args[1] & 0xffff);
  return name;
}

class Tracer {
 public:
  Tracer(FILE* output, pid_t spawn, const char* which, int error)
      : output_(output), spawn_(spawn), kind_(which), step_(atol(which)), error_(error) {}

  bool Seize() {
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    if (ptrace(PTRACE_SEIZE, spawn_, nullptr, options) != 0) return false;
    tracees_[spawn_] = {};
    return ptrace(PTRACE_INTERRUPT, spawn_, nullptr, nullptr) == 0;
  }

  // Until `command` has ended; its wait status.
  int Run(char** command) {
    pid_t child = -1;
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, __WALL);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) return -1;
      if (pid == child && !WIFSTOPPED(status)) return status;
      if (!WIFSTOPPED(status)) {
        tracees_.erase(pid);
        continue;
      }
      Stopped(pid, status);
      if (child < 0) {  // spawn's first stop: now it is traced
        child = fork();
        if (child == 0) {
          execvp(command[0], command);
          _exit(127);
        }
      }
    }
  }

 private:
  void Stopped(pid_t pid, int status) {
    const int event = status >> 16, number = WSTOPSIG(status);
    if (failed_ && (!tracees_.contains(pid) || tracees_[pid].error == 0)) {
      // After that it runs at its own pace.
      ptrace(PTRACE_DETACH, pid, nullptr, event == 0 && number != (SIGTRAP | 0x80) ? number : 0);
      tracees_.erase(pid);
      for (const pid_t early : early_) ptrace(PTRACE_DETACH, early, nullptr, nullptr);
      early_.clear();
      return;
    }
    if (!tracees_.contains(pid)) {  // its parent's report of it is still to come
      early_.insert(pid);
      return;
    }
    Tracee& tracee = tracees_[pid];
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
      unsigned long made = 0;
      ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &made);
      const Role role = tracee.role == Role::kSpawn ? Role::kChild : Role::kCommand;
      Tracee& next = tracees_[static_cast<pid_t>(made)];
      next.role = role;
      // A process that is made later is stock, or a later command.
      next.stranger = role == Role::kChild ? !armed_ || child_seen_ : command_seen_;
      if (!next.stranger) (role == Role::kChild ? child_seen_ : command_seen_) = true;
      if (early_.erase(static_cast<pid_t>(made)) > 0) Begin(static_cast<pid_t>(made));
    } else if (event == PTRACE_EVENT_EXEC) {
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);  // set up; from here on it is the agent
      complete_ = true;
      tracees_.erase(pid);
      return;
    } else if (event == PTRACE_EVENT_STOP) {
      return Begin(pid);
    } else if (number == (SIGTRAP | 0x80)) {
      SystemCall(pid, tracee);
    } else if (event == 0) {
      ptrace(PTRACE_SYSCALL, pid, nullptr, number);  // a signal of its own
      return;
    }
    ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
  }

  void Begin(pid_t pid) {
    const bool stranger = tracees_[pid].stranger;
    ptrace(stranger ? PTRACE_DETACH : PTRACE_SYSCALL, pid, nullptr, nullptr);
    if (stranger) tracees_.erase(pid);
  }

  void SystemCall(pid_t pid, Tracee& tracee) {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      const long number = static_cast<long>(info.entry.nr);
      const bool counts = !complete_ && (tracee.role != Role::kSpawn || armed_);
      if (counts && IsStep(number)) Step(pid, tracee, info);
      if (pid != spawn_) return;
      last_call_ = number;
      if (number == SYS_recvmsg) received_from_ = info.entry.args[0];
      // The answer is the last step.
      if (number == SYS_sendmsg && launched_ && info.entry.args[0] == daemon_) armed_ = false;
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      if (tracee.error != 0) {
        ReturnError(pid, tracee.error);
        tracee.error = 0;
        failed_ = step_ > 0;
      } else if (pid == spawn_ && last_call_ == SYS_recvmsg && info.exit.rval > 0 && !launched_) {
        armed_ = launched_ = true;  // the request for our sandbox
        daemon_ = received_from_;
      }
    }
  }

  void Step(pid_t pid, Tracee& tracee, const __ptrace_syscall_info& info) {
    static constexpr const char* kNames[] = {"spawn", "child", "command"};
    const std::string name =
        std::string(kNames[static_cast<int>(tracee.role)]) + " " + NameOf(info);
    const bool fails = ++count_ == step_ || name == kind_;
    if (fails) {
      SkipCall(pid);
      tracee.error = error_;
    }
    errno = 0;
    const long caller = ptrace(PTRACE_PEEKDATA, pid, info.stack_pointer, nullptr);
    const size_t place = std::hash<std::string>()(std::to_string(info.instruction_pointer) + " " +
                                                  std::to_string(info.stack_pointer) + " " +
                                                  std::to_string(errno == 0 ? caller : 0));
    fprintf(output_, "%s%s@%zx\n", fails ? "!" : "", name.c_str(), place);
  }

  FILE* output_;
  const pid_t spawn_;
  const std::string kind_;
  const long step_;
  const int error_;
  std::map<pid_t, Tracee> tracees_;
  std::set<pid_t> early_;
  bool failed_ = false, complete_ = false, armed_ = false, launched_ = false, child_seen_ = false,
       command_seen_ = false;
  long last_call_ = -1, count_ = 0;
  unsigned long long received_from_ = 0, daemon_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  FILE* output = fopen(argv[1], "we");
  if (output == nullptr) return 2;
  Tracer tracer(output, atoi(argv[2]), argv[3], atoi(argv[4]));
  if (!tracer.Seize()) {
    fprintf(stderr, "trace %s: %s\n", argv[2], strerror(errno));
    return 77;
  }
  const int status = tracer.Run(argv + 5);
  fclose(output);
  // Our end detaches all processes that are still traced.
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
