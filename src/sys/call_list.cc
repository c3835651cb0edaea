#include "sys/call_list.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "sys/process.h"

#ifdef __SANITIZE_ADDRESS__
// LeakSanitizer needs another process, which a confined one cannot start.
extern "C" int __lsan_is_turned_off() { return 1; }  // NOLINT(bugprone-reserved-identifier)
#endif

namespace cloche::sys {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

sock_filter Load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

sock_filter Return(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

// A sanitizer may allocate at any time.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr AllowedCall kRunTime[] = {
    {SYS_futex},
    {SYS_clock_gettime},
    {SYS_getrandom},
    {SYS_brk},
    {SYS_mmap, 2, PROT_EXEC, 0},
    {SYS_mprotect, 2, PROT_EXEC, 0},
    {SYS_mremap},
    {SYS_munmap},
    {SYS_madvise},
    {SYS_rt_sigreturn},
    {SYS_restart_syscall},
#ifdef __SANITIZE_ADDRESS__
    {SYS_sigaltstack},  // the sanitizer checks it at exit
    {SYS_pipe2},        // and uses a pipe to test whether it may read an object's type
#ifdef SYS_pipe
    {SYS_pipe},
#endif
#endif
    {SYS_exit},
    {SYS_exit_group},
};

void Allow(const AllowedCall& call, std::vector<sock_filter>& code) {
  const auto number = static_cast<uint32_t>(call.number);
  code.push_back(Load(offsetof(seccomp_data, nr)));
  if (call.argument < 0) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
  } else {
    // Both architectures are little-endian: the low half comes first.
    const size_t offset =
        offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(call.argument);
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
    code.push_back(Load(offset));
    code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call.mask));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.value, 0, 1));
  }
  code.push_back(Return(SECCOMP_RET_ALLOW));
}

}  // namespace

int AllowOnly(std::span<const AllowedCall> calls, RunTime run_time) {
  std::vector<sock_filter> code = {
      Load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      Return(SECCOMP_RET_KILL_PROCESS),
  };
  for (const AllowedCall& call : calls) Allow(call, code);
  if (run_time == RunTime::kWhole || kSanitized)
    for (const AllowedCall& call : kRunTime) Allow(call, code);
  code.push_back(Return(SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (const int error = SetNoNewPrivileges(); error < 0) return error;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) return -errno;
  // Act, then verify: a call nobody here needs must fail now.
  return syscall(SYS_getppid) == -1 && errno == EPERM ? 0 : -EPERM;
}

}  // namespace cloche::sys
