// cloche-promote-fault: takes the place of cloche-promote in a test, and lets it die, stand still
// or see an error at one of its system calls. Its caller does not notice. Beside itself it finds
//   cloche-promote.real   what it runs
//   fault                 VERB NUMBER ACTION: when it is called for VERB (promote, undo, list), the
//                         call NUMBER (from 1) of those that can change anything ends by ACTION:
//                         kill, stop (it stands still until the test kills it), or an errno
//   fault.steps           gets our process id, then the names of those calls, one a line; with a
//   "!"
//                         the one
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fail_call.h"
#include "sys/seccomp_decide.h"

namespace {

// A file comes or goes, its content or what describes it changes, or it reaches the disk.
constexpr long kChanges[] = {
    SYS_mkdirat,   SYS_mkdir,     SYS_mknodat,         SYS_symlinkat,    SYS_symlink,
    SYS_linkat,    SYS_unlinkat,  SYS_unlink,          SYS_rmdir,        SYS_rename,
    SYS_renameat,  SYS_renameat2, SYS_write,           SYS_pwrite64,     SYS_writev,
    SYS_pwritev,   SYS_ftruncate, SYS_copy_file_range, SYS_sendfile,     SYS_fallocate,
    SYS_fchown,    SYS_fchownat,  SYS_fchmod,          SYS_fchmodat,     SYS_utimensat,
    SYS_setxattr,  SYS_lsetxattr, SYS_fsetxattr,       SYS_fsync,        SYS_fdatasync,
    SYS_syncfs,    SYS_flock,     SYS_removexattr,     SYS_fremovexattr, SYS_sync_file_range,
    SYS_exit_group};

bool Changes(const __ptrace_syscall_info& info) {
  const auto number = static_cast<long>(info.seccomp.nr);
  if (number == SYS_openat) return (info.seccomp.args[2] & (O_CREAT | O_TRUNC)) != 0;
  if (number == SYS_ioctl) return info.seccomp.args[1] == FICLONE;
  return std::ranges::find(kChanges, number) != std::end(kChanges);
}

std::string Beside(const char* name) {
  char self[4096];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string path(self, size > 0 ? static_cast<size_t>(size) : 0);
  return path.substr(0, path.find_last_of('/') + 1) + name;
}

// Stops it at calls that may change something, and at no others: there are thousands.
bool StopAtChanges() {
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  std::vector<long> numbers(std::begin(kChanges), std::end(kChanges));
  numbers.insert(numbers.end(), {SYS_openat, SYS_ioctl});
  for (const long number : numbers) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Fault {
  std::string verb, action;
  long number = 0;
};

// Until it has ended; its wait status.
int Trace(pid_t pid, const Fault& fault, FILE* steps) {
  long count = 0;
  int error = 0;
  for (;;) {
    int status = 0;
    if (waitpid(pid, &status, __WALL) < 0) return -1;
    if (!WIFSTOPPED(status)) return status;
    int deliver = 0;
    __ptrace_syscall_info info{};
    const bool stopped_at_call =
        status >> 16 == PTRACE_EVENT_SECCOMP || WSTOPSIG(status) == (SIGTRAP | 0x80);
    if (!stopped_at_call) {
      deliver = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    } else if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) > 0) {
      if (info.op == PTRACE_SYSCALL_INFO_SECCOMP && Changes(info)) {
        const bool hit = ++count == fault.number;
        const char* name = cloche::sys::SyscallName(static_cast<int>(info.seccomp.nr));
        fprintf(steps, "%s%s\n", hit ? "!" : "", name != nullptr ? name : "?");
        fflush(steps);
        if (hit && fault.action == "kill") kill(pid, SIGKILL);
        while (hit && fault.action == "stop") pause();
        if (hit) error = atoi(fault.action.c_str());
        if (error != 0) SkipCall(pid);
      } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && error != 0) {
        ReturnError(pid, error);
        error = 0;
      }
    }
    // To the end of a call that is to fail; else to the next that may change something.
    ptrace(error != 0 ? PTRACE_SYSCALL : PTRACE_CONT, pid, nullptr, deliver);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string real = Beside("cloche-promote.real");
  Fault fault;
  std::ifstream(Beside("fault")) >> fault.verb >> fault.number >> fault.action;
  if (fault.verb != (argc > 1 ? argv[1] : "promote")) {
    execv(real.c_str(), argv);
    return 127;
  }
  FILE* steps = fopen(Beside("fault.steps").c_str(), "we");
  if (steps == nullptr) return 126;
  fprintf(steps, "%d\n", getpid());
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    if (StopAtChanges()) execv(real.c_str(), argv);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, __WALL);
  ptrace(PTRACE_SETOPTIONS, pid, nullptr,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL);
  ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  status = Trace(pid, fault, steps);
  fclose(steps);
  // It ended as that did.
  if (WIFSIGNALED(status)) kill(getpid(), WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
