#include "sys/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sys/bpf_evaluator.h"
#include "sys/seccomp_decide.h"

namespace cloche::sys {
namespace {

constexpr uint32_t kForeignArchitectures[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_MIPS, 0};

uint32_t ArchOf(SyscallAbi abi) {
  return abi == SyscallAbi::kX86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
}

uint32_t Filtered(const SeccompProgram& program, uint32_t arch, int number,
                  const uint64_t (&arguments)[6]) {
  seccomp_data data{};
  data.nr = number;
  data.arch = arch;
  std::copy(std::begin(arguments), std::end(arguments), data.args);
  const auto action = EvaluateBpf(program.code, data);
  EXPECT_TRUE(action.has_value()) << "the program is not valid BPF";
  return action.value_or(0);
}

// Values around everything the table compares with, clean and with garbage in the high half.
std::vector<uint64_t> InterestingValues() {
  std::set<uint64_t> values = {0, 1, 2, 3, 5, 6, 10, 16, 17, 40, 0x7fffffff, ~0ull};
  for (const SyscallEntry& entry : SyscallTable()) {
    const CallRule* call = entry.RuleFor(true);
    if (call == nullptr) continue;
    for (const ArgumentRule& rule : call->rules) {
      for (const Condition& condition : rule.conditions) {
        for (uint32_t value :
             {condition.value, condition.value + 1, condition.value - 1, condition.value | 0x80800u,
              condition.mask & (0u - condition.mask)}) {
          values.insert(value);
          values.insert(value | 0x100000000ull);
        }
      }
    }
  }
  return {values.begin(), values.end()};
}

// For both kinds of sandbox.
class SeccompTable : public testing::TestWithParam<SyscallAbi> {};
constexpr bool kReal[] = {false, true};
INSTANTIATE_TEST_SUITE_P(EveryArchitecture, SeccompTable,
                         testing::Values(SyscallAbi::kX86_64, SyscallAbi::kAarch64),
                         [](const auto& tested) {
                           return tested.param == SyscallAbi::kX86_64 ? "x86_64" : "aarch64";
                         });

TEST_P(SeccompTable, FilterMatchesTheTableForEveryCallAndInterestingArgument) {
  const std::vector<uint64_t> values = InterestingValues();
  for (const bool real : kReal) {
    const SeccompProgram program = CompileFilter(GetParam(), real);
    for (int number = 0; number <= 600; number++) {
      for (size_t position = 0; position < 4; position++) {
        for (uint64_t value : values) {
          uint64_t arguments[6] = {2, 2 | O_CREAT, O_CREAT, 0, 0, 0};
          arguments[position] = value;
          ASSERT_EQ(Filtered(program, ArchOf(GetParam()), number, arguments),
                    FilterAction(Decide(GetParam(), number, arguments, real)))
              << "call " << number << " argument " << position << " = " << value;
        }
      }
    }
  }
}

TEST_P(SeccompTable, FilterMatchesTheTableForRandomCalls) {
  const SeccompProgram programs[] = {CompileFilter(GetParam(), false),
                                     CompileFilter(GetParam(), true)};
  const std::vector<uint64_t> values = InterestingValues();
  std::vector<int> with_rules;
  for (const SyscallEntry& entry : SyscallTable()) {
    const CallRule* call = entry.RuleFor(true);
    if (call != nullptr && !call->rules.empty() && entry.number(GetParam()) >= 0) {
      with_rules.push_back(entry.number(GetParam()));
    }
  }
  std::mt19937_64 random(20261115);
  for (int i = 0; i < 200'000; i++) {
    const int number = i % 2 == 0 ? static_cast<int>(random() % 0x40000000) % 520
                                  : with_rules[random() % with_rules.size()];
    uint64_t arguments[6];
    for (uint64_t& argument : arguments) {
      argument = random() % 4 == 0 ? random() : values[random() % values.size()];
    }
    const bool real = i % 3 != 0;
    ASSERT_EQ(Filtered(programs[real], ArchOf(GetParam()), number, arguments),
              FilterAction(Decide(GetParam(), number, arguments, real)))
        << "call " << number << " (" << arguments[0] << ", " << arguments[1] << ", " << arguments[2]
        << ") in round " << i;
  }
}

TEST_P(SeccompTable, CallsOfAnotherArchitectureKill) {
  const SeccompProgram program = CompileFilter(GetParam());
  for (int number = -1; number <= 600; number++) {
    for (uint32_t arch : kForeignArchitectures) {
      EXPECT_EQ(Filtered(program, arch, number, {}), SECCOMP_RET_KILL_PROCESS);
    }
  }
  const SyscallAbi other =
      GetParam() == SyscallAbi::kX86_64 ? SyscallAbi::kAarch64 : SyscallAbi::kX86_64;
  EXPECT_EQ(Filtered(program, ArchOf(other), 0, {}), SECCOMP_RET_KILL_PROCESS);
}

TEST_P(SeccompTable, ProgramIsDeterministicAndLoadable) {
  const SeccompProgram program = CompileFilter(GetParam());
  const SeccompProgram again = CompileFilter(GetParam());
  ASSERT_EQ(program.code.size(), again.code.size());
  EXPECT_EQ(
      memcmp(program.code.data(), again.code.data(), program.code.size() * sizeof(sock_filter)), 0);
  EXPECT_LT(program.code.size(), 1000u);
  for (size_t at = 0; at < program.code.size(); at++) {
    const sock_filter& step = program.code[at];
    if (BPF_CLASS(step.code) != BPF_JMP) continue;
    const bool always = BPF_OP(step.code) == BPF_JA;
    EXPECT_LT(at + 1 + (always ? step.k : std::max(step.jt, step.jf)), program.code.size());
  }
  EXPECT_EQ(BPF_CLASS(program.code.back().code), BPF_RET);
}

TEST_P(SeccompTable, NoNumberOrNameIsListedTwice) {
  std::set<std::string> names;
  std::set<int> numbers;
  for (const SyscallEntry& entry : SyscallTable()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    if (entry.number(GetParam()) < 0) continue;
    EXPECT_TRUE(numbers.insert(entry.number(GetParam())).second) << entry.name;
  }
}

TEST(SeccompFilter, X32CallsKillAndTheSkippedCallDoesNot) {
  const SeccompProgram program = CompileFilter(SyscallAbi::kX86_64);
  for (int number = 0; number <= 600; number++) {
    EXPECT_EQ(Filtered(program, AUDIT_ARCH_X86_64, number | 0x40000000, {}),
              SECCOMP_RET_KILL_PROCESS);
  }
  EXPECT_EQ(Filtered(program, AUDIT_ARCH_X86_64, -2, {}), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(Filtered(program, AUDIT_ARCH_X86_64, -1, {}), SECCOMP_RET_ERRNO | ENOSYS);
}

// Checks the numbers in the table against the headers of the build machine.
TEST(SeccompTableNumbers, AgreeWithTheKernelHeaders) {
  std::map<std::string, int> known;
  for (const char* path :
       {"/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"}) {
    std::ifstream header(path);
    for (std::string word, name; header >> word;) {
      int number = 0;
      if (word == "#define" && header >> name >> number && name.starts_with("__NR_")) {
        known[name.substr(5)] = number;
      }
      header.clear();
    }
  }
  if (known.empty()) GTEST_SKIP() << "no x86_64 system call header on this machine";
  int compared = 0;
  for (const SyscallEntry& entry : SyscallTable()) {
    const auto found = known.find(entry.name);
    if (found == known.end()) {
      EXPECT_TRUE(entry.x86_64 >= 450 || entry.x86_64 == 335 || entry.x86_64 == 336) << entry.name;
      continue;
    }
    EXPECT_EQ(entry.x86_64, found->second) << entry.name;
    compared++;
  }
  EXPECT_GT(compared, 300);
}

Verdict OnX86(const char* name, std::vector<uint64_t> given = {}) {
  uint64_t arguments[6] = {};
  std::copy(given.begin(), given.end(), arguments);
  for (const SyscallEntry& entry : SyscallTable()) {
    if (std::string(name) == entry.name) {
      return Decide(SyscallAbi::kX86_64, entry.x86_64, arguments);
    }
  }
  ADD_FAILURE() << name << " is not in the table";
  return {};
}

TEST(SeccompPolicy, CallsThatInitNeedsUnderTheFilterAreAllowed) {
  for (const char* name : {"sendmsg",
                           "recvmsg",
                           "fork",
                           "vfork",
                           "clone",
                           "wait4",
                           "waitid",
                           "execve",
                           "setsid",
                           "setpgid",
                           "prctl",
                           "setrlimit",
                           "prlimit64",
                           "openat",
                           "close",
                           "close_range",
                           "dup2",
                           "dup3",
                           "fcntl",
                           "signalfd4",
                           "ppoll",
                           "poll",
                           "epoll_create1",
                           "epoll_ctl",
                           "epoll_pwait",
                           "rt_sigprocmask",
                           "rt_sigaction",
                           "rt_sigreturn",
                           "kill",
                           "chdir",
                           "fchdir",
                           "mmap",
                           "munmap",
                           "exit_group",
                           "setresuid",
                           "setresgid",
                           "setgroups",
                           "capset",
                           "getrusage",
                           "pidfd_open",
                           "pidfd_send_signal",
                           "landlock_restrict_self",
                           "umask",
                           "fstat"}) {
    EXPECT_TRUE(OnX86(name).allowed()) << name;
  }
  EXPECT_TRUE(OnX86("ioctl", {3, TIOCGPTPEER}).allowed());
  EXPECT_TRUE(OnX86("ioctl", {3, TIOCSCTTY}).allowed());
  EXPECT_TRUE(OnX86("ioctl", {3, TIOCSWINSZ}).allowed());
}

TEST(SeccompPolicy, DebuggersWorkOnTheSandboxsOwnProcesses) {
  for (const char* name : {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"}) {
    EXPECT_TRUE(OnX86(name).allowed()) << name;
  }
  EXPECT_TRUE(OnX86("personality", {0x0040000}).allowed());
  EXPECT_TRUE(OnX86("personality", {0xffffffff}).allowed());
  EXPECT_FALSE(OnX86("personality", {0x0400000}).allowed());  // READ_IMPLIES_EXEC
}

TEST(SeccompPolicy, EverydayDenialsAreQuietAndCarryTheErrnoToolsExpect) {
  const Verdict no_protocol{DenialClass::kQuiet, EPROTONOSUPPORT};
  EXPECT_EQ(OnX86("socket", {AF_NETLINK, SOCK_RAW, 9}), no_protocol);  // audit: useradd
  EXPECT_TRUE(OnX86("socket", {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}).supplied());
  EXPECT_EQ(OnX86("socketpair", {AF_NETLINK, SOCK_RAW, 0}),
            (Verdict{DenialClass::kQuiet, EOPNOTSUPP}));
  EXPECT_EQ(OnX86("socket", {AF_NETLINK, SOCK_RAW, 4}), no_protocol);  // sock_diag: ss
  EXPECT_EQ(OnX86("socket", {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 262}), no_protocol);  // Go
  EXPECT_EQ(OnX86("keyctl"), (Verdict{DenialClass::kQuiet, ENOSYS}));
  EXPECT_EQ(OnX86("clone3"), (Verdict{DenialClass::kQuiet, ENOSYS}));
  EXPECT_EQ(OnX86("io_uring_setup"), (Verdict{DenialClass::kQuiet, ENOSYS}));
  EXPECT_EQ(OnX86("syslog"), (Verdict{DenialClass::kQuiet, EPERM}));
  EXPECT_EQ(OnX86("prctl", {1000}), (Verdict{DenialClass::kQuiet, EINVAL}));
}

TEST(SeccompPolicy, ThingsToolsProbeAreReportedAndAttacksAreViolations) {
  for (const char* name : {"mount", "setns", "perf_event_open", "fsopen"}) {
    EXPECT_EQ(OnX86(name).denial, DenialClass::kReported) << name;
  }
  EXPECT_EQ(OnX86("unshare", {CLONE_NEWUSER}).denial, DenialClass::kReported);
  EXPECT_TRUE(OnX86("unshare", {CLONE_FILES | CLONE_FS}).allowed());
  EXPECT_EQ(OnX86("clone", {CLONE_NEWNET | SIGCHLD}).denial, DenialClass::kReported);
  EXPECT_EQ(OnX86("mknod", {0, S_IFBLK | 0600, 0x801}).denial, DenialClass::kReported);
  EXPECT_TRUE(OnX86("mknod", {0, S_IFIFO | 0600}).allowed());
  EXPECT_EQ(OnX86("seccomp", {1, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1}).denial,
            DenialClass::kReported);
  EXPECT_TRUE(OnX86("seccomp", {1, SECCOMP_FILTER_FLAG_TSYNC}).allowed());

  for (const char* name : {"init_module", "finit_module", "kexec_load", "open_by_handle_at"}) {
    EXPECT_EQ(OnX86(name).denial, DenialClass::kViolation) << name;
  }
  EXPECT_EQ(OnX86("bpf", {5}).denial, DenialClass::kViolation);
  EXPECT_EQ(OnX86("bpf", {0}).denial, DenialClass::kReported);
  EXPECT_EQ(OnX86("socket", {AF_PACKET, SOCK_RAW}).denial, DenialClass::kViolation);
  EXPECT_EQ(OnX86("socket", {AF_INET, SOCK_RAW, 255}).denial, DenialClass::kViolation);
  EXPECT_EQ(OnX86("socket", {AF_INET, 10}).denial, DenialClass::kViolation);
  EXPECT_EQ(OnX86("socket", {AF_VSOCK, SOCK_STREAM}).denial, DenialClass::kViolation);
  EXPECT_EQ(OnX86("ioctl", {0, TIOCSTI}).denial, DenialClass::kViolation);
}

TEST(SeccompPolicy, RootMayChrootBecauseTheKernelChecksTheCapability) {
  EXPECT_TRUE(OnX86("chroot").allowed());
}

// If a path is real, a file with one of these bits outlives the sandbox.
TEST(SeccompPolicy, WithARealPathNoCallSetsASetIdBit) {
  const auto real = [](const char* name, std::vector<uint64_t> given) {
    uint64_t arguments[6] = {};
    std::copy(given.begin(), given.end(), arguments);
    for (const SyscallEntry& entry : SyscallTable())
      if (std::string(name) == entry.name)
        return Decide(SyscallAbi::kX86_64, entry.x86_64, arguments, true);
    ADD_FAILURE() << name << " is not in the table";
    return Verdict{};
  };
  constexpr uint64_t kUnnamed = O_TMPFILE;
  for (const uint64_t bit : {uint64_t{S_ISUID}, uint64_t{S_ISGID}, uint64_t{S_ISUID | S_ISGID}}) {
    const uint64_t mode = 0755 | bit;
    const std::pair<const char*, std::vector<uint64_t>> calls[] = {
        {"chmod", {0, mode}},
        {"fchmod", {3, mode}},
        {"fchmodat", {3, 0, mode}},
        {"fchmodat2", {3, 0, mode}},
        {"creat", {0, mode}},
        {"open", {0, O_CREAT | O_WRONLY, mode}},
        {"open", {0, kUnnamed | O_RDWR, mode}},
        {"openat", {3, 0, O_CREAT | O_WRONLY, mode}},
        {"openat", {3, 0, kUnnamed | O_RDWR, mode}},
        {"mknod", {0, S_IFREG | mode}},
        {"mknodat", {3, 0, S_IFREG | mode}},
    };
    for (const auto& [name, arguments] : calls) {
      EXPECT_EQ(real(name, arguments), (Verdict{DenialClass::kReported, EPERM})) << name;
      EXPECT_TRUE(OnX86(name, arguments).allowed()) << name << " in a copy";
    }
  }
  // A mode that is ignored may be anything.
  EXPECT_TRUE(real("open", {0, O_RDONLY, S_ISUID}).allowed());
  EXPECT_TRUE(real("openat", {3, 0, O_RDWR, 07777}).allowed());
  for (const char* name : {"chmod", "fchmod", "creat"})
    EXPECT_TRUE(real(name, {0, 01777}).allowed()) << name;
  EXPECT_TRUE(real("open", {0, O_CREAT, 0644}).allowed());
  EXPECT_EQ(real("openat2", {}), (Verdict{DenialClass::kQuiet, ENOSYS}));
  EXPECT_EQ(real("io_uring_setup", {}), (Verdict{DenialClass::kQuiet, ENOSYS}));
}

// CVE-2019-10063: garbage in the half that the kernel drops defeats a comparison of all 64 bits.
TEST(SeccompPolicy, GarbageAboveTheLow32BitsChangesNothing) {
  const uint64_t garbage = 0xdeadbeef00000000;
  EXPECT_EQ(OnX86("ioctl", {0, TIOCSTI | garbage}).denial, DenialClass::kViolation);
  EXPECT_EQ(OnX86("socket", {AF_PACKET | garbage, SOCK_RAW}).denial, DenialClass::kViolation);
  EXPECT_EQ(OnX86("clone", {CLONE_NEWUSER | garbage}).denial, DenialClass::kReported);
}

TEST(SeccompNames, MatchThisArchitecture) {
  EXPECT_STREQ(SyscallName(SYS_mount), "mount");
  EXPECT_STREQ(SyscallName(SYS_openat), "openat");
  EXPECT_EQ(SyscallName(9999), nullptr);
  EXPECT_EQ(SyscallName(-1), nullptr);
  EXPECT_EQ(ClassOf(SYS_kexec_load, {}), DenialClass::kViolation);
}

}  // namespace
}  // namespace cloche::sys
