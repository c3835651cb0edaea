#include "sys/seccomp_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace cloche::sys {
namespace {

constexpr Verdict kAllow{};
constexpr Verdict Quiet(int error) { return {DenialClass::kQuiet, error}; }
constexpr Verdict Reported(int error = EPERM) { return {DenialClass::kReported, error}; }
constexpr Verdict Violation(int error = EPERM) { return {DenialClass::kViolation, error}; }

// `error`: returned to the caller if the daemon has nothing to supply.
constexpr Verdict Supplied(int error) { return {DenialClass::kSupplied, error}; }

constexpr Condition Masked(uint8_t argument, uint32_t mask, uint32_t value) {
  return {Condition::Compare::kMaskedEqual, argument, mask, value};
}
constexpr Condition Equal(uint8_t argument, uint32_t value) { return Masked(argument, ~0u, value); }
constexpr Condition AtMost(uint8_t argument, uint32_t value) {
  return {Condition::Compare::kAtMost, argument, ~0u, value};
}

constexpr CallRule kNoSuchCall{Quiet(ENOSYS)};
constexpr CallRule kQuietlyRefused{Quiet(EPERM)};
constexpr CallRule kReportedRefusal{Reported()};
constexpr CallRule kViolationRefusal{Violation()};

constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr ArgumentRule kCloneRules[] = {{{Masked(0, kNewNamespaces, 0)}, kAllow}};
constexpr CallRule kClone{Reported(), kCloneRules};

constexpr uint32_t kHarmlessUnshare = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM;
constexpr ArgumentRule kUnshareRules[] = {{{Masked(0, ~kHarmlessUnshare, 0)}, kAllow}};
constexpr CallRule kUnshare{Reported(), kUnshareRules};

// AF_INET is 2 and AF_INET6 is 10: one bit apart, so one comparison finds both.
constexpr uint32_t kInetDifference = AF_INET ^ AF_INET6;
constexpr Condition kInet = Masked(0, ~kInetDifference, AF_INET);
static_assert((AF_INET6 & ~kInetDifference) == AF_INET);
constexpr uint32_t kTypeMask = 0xf;  // above it are SOCK_CLOEXEC and SOCK_NONBLOCK
constexpr Condition Type(uint32_t type) { return Masked(1, kTypeMask, type); }
constexpr Condition Protocol(uint32_t protocol) { return Equal(2, protocol); }
constexpr uint32_t kMultipathTcp = 262;

constexpr ArgumentRule kSocketRules[] = {
    {{Equal(0, AF_UNIX)}, kAllow},
    {{kInet, Type(SOCK_STREAM), Protocol(0)}, kAllow},
    {{kInet, Type(SOCK_STREAM), Protocol(IPPROTO_TCP)}, kAllow},
    {{kInet, Type(SOCK_DGRAM), Protocol(0)}, kAllow},
    {{kInet, Type(SOCK_DGRAM), Protocol(IPPROTO_UDP)}, kAllow},
    // Go probes multipath TCP at start-up; only this errno makes it fall back for good.
    {{kInet, Type(SOCK_STREAM), Protocol(kMultipathTcp)}, Quiet(EPROTONOSUPPORT)},
    // ping asks for a datagram socket, then for a raw one. ping_group_range gives EACCES.
    {{kInet, Type(SOCK_DGRAM), Protocol(IPPROTO_ICMP)}, Quiet(EACCES)},
    {{kInet, Type(SOCK_DGRAM), Protocol(IPPROTO_ICMPV6)}, Quiet(EACCES)},
    {{kInet, Type(SOCK_RAW), Protocol(IPPROTO_ICMP)}, Reported()},
    {{kInet, Type(SOCK_RAW), Protocol(IPPROTO_ICMPV6)}, Reported()},
    {{kInet, Type(SOCK_RAW)}, Violation()},
    {{kInet, Type(SOCK_PACKET)}, Violation()},  // the kernel turns it into AF_PACKET
    {{kInet}, Reported(EPROTONOSUPPORT)},       // SCTP, DCCP, SMC, UDP-Lite: modules on demand
    // No cgroup counts the data waiting in one, so a sandbox gets only a few
    // (src/daemon/netlink_supply.h).
    {{Equal(0, AF_NETLINK), Protocol(NETLINK_ROUTE)}, Supplied(ENOBUFS)},
    // useradd, sudo and login talk to NETLINK_AUDIT and abort on any other errno.
    {{Equal(0, AF_NETLINK)}, Quiet(EPROTONOSUPPORT)},
    {{Equal(0, AF_PACKET)}, Violation()},
    {{Equal(0, AF_VSOCK)}, Violation()},  // leads to the hypervisor past every network rule
    {{Equal(0, AF_XDP)}, Violation()},
};
// Test suites and hardlink(1) (AF_ALG) probe odd families, so the rest is not a violation.
constexpr CallRule kSocket{Reported(EAFNOSUPPORT), kSocketRules};

// The kernel creates two sockets of any family before it finds that most have no pairs.
constexpr ArgumentRule kSocketPairRules[] = {{{Equal(0, AF_NETLINK)}, Quiet(EOPNOTSUPP)},
                                             {{Equal(0, AF_UNIX)}, kAllow},
                                             {{kInet, Type(SOCK_STREAM)}, Quiet(EOPNOTSUPP)},
                                             {{kInet, Type(SOCK_DGRAM)}, Quiet(EOPNOTSUPP)}};
constexpr CallRule kSocketPair{Reported(EAFNOSUPPORT), kSocketPairRules};

// Upper layer protocols (kTLS, espintcp, SMC) are modules on demand and edit pages in place, which
// is how page cache gets overwritten; programs that want kTLS continue without.
constexpr ArgumentRule kSocketOptionRules[] = {
    {{Equal(1, IPPROTO_TCP), Equal(2, TCP_ULP)}, Quiet(ENOENT)}};
constexpr CallRule kSocketOption{kAllow, kSocketOptionRules};

constexpr ArgumentRule kIoctlRules[] = {
    {{Equal(1, TIOCSTI)}, Violation()},      // types into somebody else's terminal
    {{Equal(1, TIOCLINUX)}, Quiet(ENOTTY)},  // mc asks per key; ptys answer this anyway
    {{Equal(1, TIOCSETD)}, Reported()},      // line disciplines are modules on demand
};
constexpr CallRule kIoctl{kAllow, kIoctlRules};

constexpr uint32_t kLastPrctl = 78;            // PR_FUTEX_HASH, Linux 6.16
constexpr uint32_t kPrctlSetVma = 0x53564d41;  // names for mappings
constexpr ArgumentRule kPrctlRules[] = {
    {{Equal(0, PR_SET_MM)}, Reported()},  // forges what /proc shows about a process
    {{AtMost(0, kLastPrctl)}, kAllow},
    {{Equal(0, kPrctlSetVma)}, kAllow},
    {{Equal(0, PR_SET_PTRACER)}, kAllow},  // crash reporters; tracers are inside, too
};
constexpr CallRule kPrctl{Quiet(EINVAL), kPrctlRules};

// gdb and the sanitizers turn randomisation off for their child; the other flags emulate old
// systems and weaken memory protection.
constexpr uint32_t kPersonalities =
    uint32_t{PER_LINUX32} | uint32_t{UNAME26} | uint32_t{ADDR_NO_RANDOMIZE};
constexpr ArgumentRule kPersonalityRules[] = {
    {{Masked(0, ~kPersonalities, 0)}, kAllow}, {{Equal(0, ~0u)}, kAllow},  // only asks
};
constexpr CallRule kPersonality{Reported(), kPersonalityRules};

constexpr ArgumentRule kMknodRules[] = {{{Masked(1, S_IFMT, S_IFCHR)}, Reported()},
                                        {{Masked(1, S_IFMT, S_IFBLK)}, Reported()}};
constexpr CallRule kMknod{kAllow, kMknodRules};
constexpr ArgumentRule kMknodAtRules[] = {{{Masked(2, S_IFMT, S_IFCHR)}, Reported()},
                                          {{Masked(2, S_IFMT, S_IFBLK)}, Reported()}};
constexpr CallRule kMknodAt{kAllow, kMknodAtRules};

// If a path is real (--rw), a file with one of these bits outlives the sandbox and gives whoever
// runs it outside its owner's or group's rights. A filter cannot see which file is meant, so they
// are refused in the whole sandbox. mkdir drops them by itself.
constexpr ArgumentRule kModeSecondRules[] = {{{Masked(1, S_ISUID, S_ISUID)}, Reported()},
                                             {{Masked(1, S_ISGID, S_ISGID)}, Reported()}};
constexpr CallRule kModeSecond{kAllow, kModeSecondRules};
constexpr ArgumentRule kModeThirdRules[] = {{{Masked(2, S_ISUID, S_ISUID)}, Reported()},
                                            {{Masked(2, S_ISGID, S_ISGID)}, Reported()}};
constexpr CallRule kModeThird{kAllow, kModeThirdRules};
constexpr ArgumentRule kMknodRealRules[] = {{{Masked(1, S_IFMT, S_IFCHR)}, Reported()},
                                            {{Masked(1, S_IFMT, S_IFBLK)}, Reported()},
                                            {{Masked(1, S_ISUID, S_ISUID)}, Reported()},
                                            {{Masked(1, S_ISGID, S_ISGID)}, Reported()}};
constexpr CallRule kMknodReal{kAllow, kMknodRealRules};
constexpr ArgumentRule kMknodAtRealRules[] = {{{Masked(2, S_IFMT, S_IFCHR)}, Reported()},
                                              {{Masked(2, S_IFMT, S_IFBLK)}, Reported()},
                                              {{Masked(2, S_ISUID, S_ISUID)}, Reported()},
                                              {{Masked(2, S_ISGID, S_ISGID)}, Reported()}};
constexpr CallRule kMknodAtReal{kAllow, kMknodAtRealRules};
// Only a call that creates a file has a mode; otherwise the register holds anything.
constexpr uint32_t kUnnamed = O_TMPFILE & ~O_DIRECTORY;
constexpr ArgumentRule kOpenRealRules[] = {
    {{Masked(1, O_CREAT, O_CREAT), Masked(2, S_ISUID, S_ISUID)}, Reported()},
    {{Masked(1, O_CREAT, O_CREAT), Masked(2, S_ISGID, S_ISGID)}, Reported()},
    {{Masked(1, kUnnamed, kUnnamed), Masked(2, S_ISUID, S_ISUID)}, Reported()},
    {{Masked(1, kUnnamed, kUnnamed), Masked(2, S_ISGID, S_ISGID)}, Reported()}};
constexpr CallRule kOpenReal{kAllow, kOpenRealRules};
constexpr ArgumentRule kOpenAtRealRules[] = {
    {{Masked(2, O_CREAT, O_CREAT), Masked(3, S_ISUID, S_ISUID)}, Reported()},
    {{Masked(2, O_CREAT, O_CREAT), Masked(3, S_ISGID, S_ISGID)}, Reported()},
    {{Masked(2, kUnnamed, kUnnamed), Masked(3, S_ISUID, S_ISUID)}, Reported()},
    {{Masked(2, kUnnamed, kUnnamed), Masked(3, S_ISGID, S_ISGID)}, Reported()}};
constexpr CallRule kOpenAtReal{kAllow, kOpenAtRealRules};

// Programs may install their own filters, but no listener: of two notifying filters the newer one
// is asked, and may answer CONTINUE. EBUSY is what kernels return that allow one listener per tree.
constexpr ArgumentRule kSeccompRules[] = {
    {{Masked(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0)}, kAllow}};
constexpr CallRule kSeccomp{Reported(EBUSY), kSeccompRules};

constexpr ArgumentRule kBpfRules[] = {{{Equal(0, BPF_PROG_LOAD)}, Violation()}};
constexpr CallRule kBpf{Reported(), kBpfRules};

// Absent on purpose, so ENOSYS: calls that no libc makes any more (uselib, sysfs, ustat,
// lookup_dcookie ...) and calls too new to be needed (cachestat, lsm_*, file_setattr, listns).
//
// Allowed although they look dangerous: ptrace, process_vm_*, pidfd_getfd, kcmp (the pid namespace
// and a non-dumpable init confine them to the sandbox's own processes); adjtimex, clock_adjtime
// (reading is common, writing needs a capability of the initial user namespace); chroot (needs a
// capability that only root inside has, and leads no further out than our own root); setxattr (its
// name is behind a pointer); sched_setattr (likewise; RLIMIT_RTPRIO limits it); uretprobe, uprobe
// (a tracer on the host inserts them into our processes; elsewhere they raise SIGILL).
constexpr SyscallEntry kTable[] = {
    // libc falls back to clone, whose flags a filter can see.
    {"clone3", 435, 435, &kNoSuchCall},
    // A second system call interface that seccomp never sees. Users fall back on ENOSYS.
    {"io_uring_setup", 425, 425, &kNoSuchCall},
    {"io_uring_enter", 426, 426, &kNoSuchCall},
    {"io_uring_register", 427, 427, &kNoSuchCall},
    // The whole machine shares fs.aio-max-nr, and many small contexts use it up. MySQL, MariaDB,
    // nginx and QEMU continue without.
    {"io_setup", 206, 0, &kNoSuchCall},
    {"memfd_secret", 447, 447, &kNoSuchCall},  // unswappable, and blocks hibernation of the host
    // Keyrings outlive sandboxes. pam_keyinit (runuser, sudo, login) skips itself on ENOSYS only.
    {"add_key", 248, 217, &kNoSuchCall},
    {"request_key", 249, 218, &kNoSuchCall},
    {"keyctl", 250, 219, &kNoSuchCall},

    {"syslog", 103, 116, &kQuietlyRefused},  // dmesg
    {"vhangup", 153, 58, &kQuietlyRefused},  // login, getty
    // Memory placement on the host's nodes; numactl and OpenBLAS continue without.
    {"mbind", 237, 235, &kQuietlyRefused},
    {"migrate_pages", 256, 238, &kQuietlyRefused},
    {"move_pages", 279, 239, &kQuietlyRefused},
    {"set_mempolicy", 238, 237, &kQuietlyRefused},
    {"set_mempolicy_home_node", 450, 450, &kQuietlyRefused},

    // Browsers, bazel, flatpak and unshare(1) test whether these work.
    {"clone", 56, 220, &kClone},
    {"unshare", 272, 97, &kUnshare},
    {"setns", 308, 268, &kReportedRefusal},
    {"mount", 165, 40, &kReportedRefusal},
    {"umount2", 166, 39, &kReportedRefusal},
    {"pivot_root", 155, 41, &kReportedRefusal},
    {"fsopen", 430, 430, &kReportedRefusal},
    {"fsconfig", 431, 431, &kReportedRefusal},
    {"fsmount", 432, 432, &kReportedRefusal},
    {"fspick", 433, 433, &kReportedRefusal},
    {"move_mount", 429, 429, &kReportedRefusal},
    {"mount_setattr", 442, 442, &kReportedRefusal},
    {"open_tree", 428, 428, &kReportedRefusal},
    {"open_tree_attr", 467, 467, &kReportedRefusal},

    {"socket", 41, 198, &kSocket},
    {"socketpair", 53, 199, &kSocketPair},
    {"setsockopt", 54, 208, &kSocketOption},
    {"ioctl", 16, 29, &kIoctl},
    {"prctl", 157, 167, &kPrctl},
    {"personality", 135, 92, &kPersonality},
    {"mknod", 133, -1, &kMknod, &kMknodReal},
    {"mknodat", 259, 33, &kMknodAt, &kMknodAtReal},
    {"chmod", 90, -1, nullptr, &kModeSecond},
    {"fchmod", 91, 52, nullptr, &kModeSecond},
    {"fchmodat", 268, 53, nullptr, &kModeThird},
    {"fchmodat2", 452, 452, nullptr, &kModeThird},
    {"creat", 85, -1, nullptr, &kModeSecond},
    {"open", 2, -1, nullptr, &kOpenReal},
    {"openat", 257, 56, nullptr, &kOpenAtReal},
    // Its mode is behind a pointer; callers fall back to openat.
    {"openat2", 437, 437, nullptr, &kNoSuchCall},
    {"seccomp", 317, 277, &kSeccomp},
    {"bpf", 321, 280, &kBpf},

    // Administration of the machine, or a rich source of kernel bugs; profilers, date(1), reboot(8)
    // and the like run into these.
    {"acct", 163, 89, &kReportedRefusal},
    {"clock_settime", 227, 112, &kReportedRefusal},
    {"fanotify_init", 300, 262, &kReportedRefusal},
    {"ioperm", 173, -1, &kReportedRefusal},
    {"iopl", 172, -1, &kReportedRefusal},
    {"modify_ldt", 154, -1, &kReportedRefusal},
    {"perf_event_open", 298, 241, &kReportedRefusal},
    {"quotactl", 179, 60, &kReportedRefusal},
    {"quotactl_fd", 443, 443, &kReportedRefusal},
    {"reboot", 169, 142, &kReportedRefusal},
    {"setdomainname", 171, 162, &kReportedRefusal},
    {"sethostname", 170, 161, &kReportedRefusal},
    {"settimeofday", 164, 170, &kReportedRefusal},
    {"swapoff", 168, 225, &kReportedRefusal},
    {"swapon", 167, 224, &kReportedRefusal},
    {"userfaultfd", 323, 282, &kReportedRefusal},

    {"delete_module", 176, 106, &kViolationRefusal},
    {"finit_module", 313, 273, &kViolationRefusal},
    {"init_module", 175, 105, &kViolationRefusal},
    {"kexec_file_load", 320, 294, &kViolationRefusal},
    {"kexec_load", 246, 104, &kViolationRefusal},
    // Opens any inode of a filesystem by number, around every mount and hidden path.
    {"open_by_handle_at", 304, 265, &kViolationRefusal},

    // clang-format off
    {"accept", 43, 202}, {"accept4", 288, 242}, {"access", 21, -1}, {"adjtimex", 159, 171},
    {"alarm", 37, -1}, {"arch_prctl", 158, -1}, {"bind", 49, 200}, {"brk", 12, 214},
    {"capget", 125, 90}, {"capset", 126, 91}, {"chdir", 80, 49}, {"chroot", 161, 51},
    {"chown", 92, -1}, {"clock_adjtime", 305, 266}, {"clock_getres", 229, 114},
    {"clock_gettime", 228, 113}, {"clock_nanosleep", 230, 115}, {"close", 3, 57},
    {"close_range", 436, 436}, {"connect", 42, 203}, {"copy_file_range", 326, 285},
    {"dup", 32, 23}, {"dup2", 33, -1}, {"dup3", 292, 24},
    {"epoll_create", 213, -1}, {"epoll_create1", 291, 20}, {"epoll_ctl", 233, 21},
    {"epoll_pwait", 281, 22}, {"epoll_pwait2", 441, 441}, {"epoll_wait", 232, -1},
    {"eventfd", 284, -1}, {"eventfd2", 290, 19}, {"execve", 59, 221}, {"execveat", 322, 281},
    {"exit", 60, 93}, {"exit_group", 231, 94}, {"faccessat", 269, 48}, {"faccessat2", 439, 439},
    {"fadvise64", 221, 223}, {"fallocate", 285, 47}, {"fanotify_mark", 301, 263},
    {"fchdir", 81, 50},
    {"fchown", 93, 55}, {"fchownat", 260, 54}, {"fcntl", 72, 25}, {"fdatasync", 75, 83},
    {"fgetxattr", 193, 10}, {"flistxattr", 196, 13}, {"flock", 73, 32}, {"fork", 57, -1},
    {"fremovexattr", 199, 16}, {"fsetxattr", 190, 7}, {"fstat", 5, 80}, {"fstatfs", 138, 44},
    {"fsync", 74, 82}, {"ftruncate", 77, 46}, {"futex", 202, 98}, {"futex_requeue", 456, 456},
    {"futex_wait", 455, 455}, {"futex_waitv", 449, 449}, {"futex_wake", 454, 454},
    {"futimesat", 261, -1}, {"get_mempolicy", 239, 236}, {"get_robust_list", 274, 100},
    {"get_thread_area", 211, -1}, {"getcpu", 309, 168}, {"getcwd", 79, 17}, {"getdents", 78, -1},
    {"getdents64", 217, 61}, {"getegid", 108, 177}, {"geteuid", 107, 175}, {"getgid", 104, 176},
    {"getgroups", 115, 158}, {"getitimer", 36, 102}, {"getpeername", 52, 205},
    {"getpgid", 121, 155}, {"getpgrp", 111, -1}, {"getpid", 39, 172}, {"getppid", 110, 173},
    {"getpriority", 140, 141}, {"getrandom", 318, 278}, {"getresgid", 120, 150},
    {"getresuid", 118, 148}, {"getrlimit", 97, 163}, {"getrusage", 98, 165}, {"getsid", 124, 156},
    {"getsockname", 51, 204}, {"getsockopt", 55, 209}, {"gettid", 186, 178},
    {"gettimeofday", 96, 169}, {"getuid", 102, 174}, {"getxattr", 191, 8}, {"getxattrat", 464, 464},
    {"inotify_add_watch", 254, 27}, {"inotify_init", 253, -1}, {"inotify_init1", 294, 26},
    {"inotify_rm_watch", 255, 28}, {"io_cancel", 210, 3}, {"io_destroy", 207, 1},
    {"io_getevents", 208, 4}, {"io_pgetevents", 333, 292}, {"io_submit", 209, 2}, {"ioprio_get", 252, 31}, {"ioprio_set", 251, 30}, {"kcmp", 312, 272},
    {"kill", 62, 129}, {"landlock_add_rule", 445, 445}, {"landlock_create_ruleset", 444, 444},
    {"landlock_restrict_self", 446, 446}, {"lchown", 94, -1}, {"lgetxattr", 192, 9},
    {"link", 86, -1}, {"linkat", 265, 37}, {"listen", 50, 201}, {"listmount", 458, 458},
    {"listxattr", 194, 11}, {"listxattrat", 465, 465}, {"llistxattr", 195, 12},
    {"lremovexattr", 198, 15}, {"lseek", 8, 62}, {"lsetxattr", 189, 6}, {"lstat", 6, -1},
    {"madvise", 28, 233}, {"map_shadow_stack", 453, -1}, {"membarrier", 324, 283},
    {"memfd_create", 319, 279}, {"mincore", 27, 232}, {"mkdir", 83, -1}, {"mkdirat", 258, 34},
    {"mlock", 149, 228}, {"mlock2", 325, 284}, {"mlockall", 151, 230}, {"mmap", 9, 222},
    {"mprotect", 10, 226}, {"mq_getsetattr", 245, 185}, {"mq_notify", 244, 184},
    {"mq_open", 240, 180}, {"mq_timedreceive", 243, 183}, {"mq_timedsend", 242, 182},
    {"mq_unlink", 241, 181}, {"mremap", 25, 216}, {"mseal", 462, 462}, {"msgctl", 71, 187},
    {"msgget", 68, 186}, {"msgrcv", 70, 188}, {"msgsnd", 69, 189}, {"msync", 26, 227},
    {"munlock", 150, 229}, {"munlockall", 152, 231}, {"munmap", 11, 215},
    {"name_to_handle_at", 303, 264}, {"nanosleep", 35, 101}, {"newfstatat", 262, 79},
    {"pause", 34, -1},
    {"pidfd_getfd", 438, 438}, {"pidfd_open", 434, 434}, {"pidfd_send_signal", 424, 424},
    {"pipe", 22, -1}, {"pipe2", 293, 59}, {"pkey_alloc", 330, 289}, {"pkey_free", 331, 290},
    {"pkey_mprotect", 329, 288}, {"poll", 7, -1}, {"ppoll", 271, 73}, {"pread64", 17, 67},
    {"preadv", 295, 69}, {"preadv2", 327, 286}, {"prlimit64", 302, 261},
    {"process_madvise", 440, 440}, {"process_mrelease", 448, 448}, {"process_vm_readv", 310, 270},
    {"process_vm_writev", 311, 271}, {"pselect6", 270, 72}, {"ptrace", 101, 117},
    {"pwrite64", 18, 68}, {"pwritev", 296, 70}, {"pwritev2", 328, 287}, {"read", 0, 63},
    {"readahead", 187, 213}, {"readlink", 89, -1}, {"readlinkat", 267, 78}, {"readv", 19, 65},
    {"recvfrom", 45, 207}, {"recvmmsg", 299, 243}, {"recvmsg", 47, 212},
    {"remap_file_pages", 216, 234}, {"removexattr", 197, 14}, {"removexattrat", 466, 466},
    {"rename", 82, -1}, {"renameat", 264, 38}, {"renameat2", 316, 276},
    {"restart_syscall", 219, 128}, {"rmdir", 84, -1}, {"rseq", 334, 293}, {"rt_sigaction", 13, 134},
    {"rt_sigpending", 127, 136}, {"rt_sigprocmask", 14, 135}, {"rt_sigqueueinfo", 129, 138},
    {"rt_sigreturn", 15, 139}, {"rt_sigsuspend", 130, 133}, {"rt_sigtimedwait", 128, 137},
    {"rt_tgsigqueueinfo", 297, 240}, {"sched_get_priority_max", 146, 125},
    {"sched_get_priority_min", 147, 126}, {"sched_getaffinity", 204, 123},
    {"sched_getattr", 315, 275}, {"sched_getparam", 143, 121}, {"sched_getscheduler", 145, 120},
    {"sched_rr_get_interval", 148, 127}, {"sched_setaffinity", 203, 122},
    {"sched_setattr", 314, 274}, {"sched_setparam", 142, 118}, {"sched_setscheduler", 144, 119},
    {"sched_yield", 24, 124}, {"select", 23, -1}, {"semctl", 66, 191}, {"semget", 64, 190},
    {"semop", 65, 193}, {"semtimedop", 220, 192}, {"sendfile", 40, 71}, {"sendmmsg", 307, 269},
    {"sendmsg", 46, 211}, {"sendto", 44, 206}, {"set_robust_list", 273, 99},
    {"set_thread_area", 205, -1}, {"set_tid_address", 218, 96}, {"setfsgid", 123, 152},
    {"setfsuid", 122, 151}, {"setgid", 106, 144}, {"setgroups", 116, 159}, {"setitimer", 38, 103},
    {"setpgid", 109, 154}, {"setpriority", 141, 140}, {"setregid", 114, 143},
    {"setresgid", 119, 149}, {"setresuid", 117, 147}, {"setreuid", 113, 145},
    {"setrlimit", 160, 164}, {"setsid", 112, 157}, {"setuid", 105, 146}, {"setxattr", 188, 5},
    {"setxattrat", 463, 463}, {"shmat", 30, 196}, {"shmctl", 31, 195}, {"shmdt", 67, 197},
    {"shmget", 29, 194}, {"shutdown", 48, 210}, {"sigaltstack", 131, 132}, {"signalfd", 282, -1},
    {"signalfd4", 289, 74}, {"splice", 275, 76}, {"stat", 4, -1}, {"statfs", 137, 43},
    {"statmount", 457, 457}, {"statx", 332, 291}, {"symlink", 88, -1}, {"symlinkat", 266, 36},
    {"sync", 162, 81}, {"sync_file_range", 277, 84}, {"syncfs", 306, 267}, {"sysinfo", 99, 179},
    {"tee", 276, 77}, {"tgkill", 234, 131}, {"time", 201, -1}, {"timer_create", 222, 107},
    {"timer_delete", 226, 111}, {"timer_getoverrun", 225, 109}, {"timer_gettime", 224, 108},
    {"timer_settime", 223, 110}, {"timerfd_create", 283, 85}, {"timerfd_gettime", 287, 87},
    {"timerfd_settime", 286, 86}, {"times", 100, 153}, {"tkill", 200, 130}, {"truncate", 76, 45},
    {"umask", 95, 166}, {"uname", 63, 160}, {"unlink", 87, -1}, {"unlinkat", 263, 35},
    {"uprobe", 336, -1}, {"uretprobe", 335, -1}, {"utime", 132, -1}, {"utimensat", 280, 88},
    {"utimes", 235, -1}, {"vfork", 58, -1}, {"vmsplice", 278, 75}, {"wait4", 61, 260},
    {"waitid", 247, 95}, {"write", 1, 64}, {"writev", 20, 66},
    // clang-format on
};

}  // namespace

std::span<const SyscallEntry> SyscallTable() { return kTable; }

}  // namespace cloche::sys
