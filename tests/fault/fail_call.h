#pragma once

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>

// Lets a system call of a tracee fail, on x86-64.

template <typename Edit>
void ChangeRegisters(pid_t pid, Edit edit) {
  user_regs_struct registers{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
  edit(registers);
  ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
}

// At its entry: another is made instead, one that every filter lets pass.
inline void SkipCall(pid_t pid) {
  ChangeRegisters(pid, [](user_regs_struct& registers) { registers.orig_rax = SYS_getpid; });
}

// At its exit.
inline void ReturnError(pid_t pid, int error) {
  ChangeRegisters(pid, [&](user_regs_struct& registers) {
    registers.rax = static_cast<unsigned long long>(-static_cast<long long>(error));
  });
}
