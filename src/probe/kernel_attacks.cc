#include <fcntl.h>
#include <fmt/core.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe/attack.h"
#include "sys/seccomp_decide.h"

namespace cloche::probe {
namespace {

// The published table against the kernel: every call it denies without arguments must answer what
// it says. Calls it allows are not made: some would wait forever.
void SyscallSweep(Attempt& attempt) {
  int denied = 0;
  for (int number = 0; number <= 600; ++number) {
    const uint64_t none[6] = {};
    const sys::Verdict verdict = sys::Decide(sys::kNativeAbi, number, none);
    if (verdict.allowed()) continue;
    ++denied;
    errno = 0;
    const long result = syscall(number, 0, 0, 0, 0, 0, 0);
    if (result == -1 && errno == verdict.error) {
      attempt.Refused();
      continue;
    }
    const char* name = sys::SyscallName(number);
    attempt.Got(fmt::format(
        "{} answers {} instead of {}", name != nullptr ? name : fmt::format("syscall_{}", number),
        result == -1 ? strerrorname_np(errno) : "success", strerrorname_np(verdict.error)));
  }
  attempt.Set("denied_by_table", denied);
}

#if defined(__x86_64__)
template <typename Call>
void OtherAbi(Attempt& attempt, const char* name, Call call) {
  const pid_t child = fork();
  if (child == 0) _exit(call() > 0 ? 42 : 43);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) attempt.Got(fmt::format("{} was let through", name));
  if (WIFSIGNALED(status)) attempt.Refused();
}

void OtherAbis(Attempt& attempt) {
  OtherAbi(attempt, "int 0x80", [] {
    long result = 20;  // getpid of i386
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result;
  });
  OtherAbi(attempt, "int 0x80 socketcall", [] {
    long result = 102;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(1l), "c"(0l)
                 : "memory", "r8", "r9", "r10", "r11");
    return result;
  });
  OtherAbi(attempt, "x32 getpid", [] { return syscall(0x40000000 + SYS_getpid); });
}
#else
void OtherAbis(Attempt& attempt) { attempt.Refused(); }
#endif

void Bpf(Attempt& attempt) {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_ARRAY;
  map.key_size = map.value_size = 4;
  map.max_entries = 1;
  attempt.Try("bpf map", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
  const bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  bpf_attr program{};
  program.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  program.insns = reinterpret_cast<uint64_t>(code);
  program.insn_cnt = 2;
  program.license = reinterpret_cast<uint64_t>("GPL");
  attempt.Try("bpf program", syscall(SYS_bpf, BPF_PROG_LOAD, &program, sizeof program));
  perf_event_attr event{};
  event.type = PERF_TYPE_SOFTWARE;
  event.size = sizeof event;
  event.config = PERF_COUNT_SW_TASK_CLOCK;
  event.exclude_kernel = event.exclude_hv = 1;
  attempt.Try("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
}

void IoUring(Attempt& attempt) {
  io_uring_params parameters{};
  attempt.Try("io_uring_setup", syscall(SYS_io_uring_setup, 4, &parameters));
}

void UserFault(Attempt& attempt) {
  attempt.Try("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */));
  attempt.Try("userfaultfd with kernel faults", syscall(SYS_userfaultfd, O_CLOEXEC));
  attempt.Try("/dev/userfaultfd", open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
}

void Keys(Attempt& attempt) {
  constexpr int kProcessKeyring = -2, kSessionKeyring = -3, kUserKeyring = -4;
  attempt.Try("add_key", syscall(SYS_add_key, "user", "cloche-probe", "x", 1, kProcessKeyring));
  attempt.Try("keyctl get session keyring", syscall(SYS_keyctl, 0, kSessionKeyring, 0));
  attempt.Try("keyctl get user keyring", syscall(SYS_keyctl, 0, kUserKeyring, 0));
  attempt.Try("request_key", syscall(SYS_request_key, "user", "cloche-probe", nullptr, 0));
}

bool InTable(int family, int type, int protocol) {
  if (family == AF_UNIX) return true;
  if (family == AF_INET || family == AF_INET6)
    return (type == SOCK_STREAM && (protocol == 0 || protocol == 6)) ||
           (type == SOCK_DGRAM && (protocol == 0 || protocol == 17));
  return family == AF_NETLINK && protocol == NETLINK_ROUTE;
}

// "light" asks for nothing that could load a module into the host's kernel.
void Families(Attempt& attempt) {
  const auto open_it = [&](int family, int type, int protocol) {
    if (InTable(family, type, protocol)) return;
    const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    attempt.Try(fmt::format("family {} type {} protocol {}", family, type, protocol), fd);
    if (fd >= 0) close(fd);
  };
  if (!attempt.words.empty()) {
    for (const int protocol : {NETLINK_KOBJECT_UEVENT, NETLINK_GENERIC})
      open_it(AF_NETLINK, SOCK_RAW, protocol);
    return open_it(AF_PACKET, SOCK_RAW, 0);
  }
  for (int family = 0; family <= 50; ++family)
    for (const int type : {1, 2, 3, 4, 5, 10}) {
      for (const int protocol : {0, 1, 2, 6, 17, 33, 58, 132, 136, 255, 256, 262})
        open_it(family, type, protocol);
    }
}

void ModuleLoading(Attempt& attempt) {
  Families(attempt);
  attempt.Try("init_module", syscall(SYS_init_module, "junk", 4, ""));
  const int file = memfd_create("module", MFD_CLOEXEC);
  attempt.Try("finit_module", syscall(SYS_finit_module, file, "", 0));
  attempt.Try("delete_module", syscall(SYS_delete_module, "cloche_no_such_module", 0));
  for (const char* type : {"minix", "hfs", "ntfs3", "squashfs", "cramfs", "udf", "reiserfs"})
    attempt.Try(fmt::format("mount {}", type), mount("/dev/null", "/", type, 0, nullptr));
}

void Netlink(Attempt& attempt) {
  for (int protocol = 1; protocol < 23; ++protocol) {
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    attempt.Try(fmt::format("netlink {}", protocol), fd);
    if (fd >= 0) close(fd);
  }
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return attempt.Refused();
  struct {
    nlmsghdr head;
    ifinfomsg link;
  } request{};
  request.head = {sizeof request, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0};
  request.link.ifi_index = 1;
  request.link.ifi_flags = request.link.ifi_change = IFF_PROMISC;
  (void)!send(fd, &request, sizeof request, 0);
  struct {
    nlmsghdr head;
    nlmsgerr error;
    char rest[4096];
  } answer{};
  if (recv(fd, &answer, sizeof answer, 0) > 0 && answer.head.nlmsg_type == NLMSG_ERROR &&
      answer.error.error == 0)
    attempt.Got("changed a network interface");
  else
    attempt.Refused();
  close(fd);
}

void Hypervisor(Attempt& attempt) {
  attempt.Try("AF_VSOCK", socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const char* path : {"/dev/kvm", "/dev/vsock", "/dev/vhost-vsock", "/dev/vhost-net",
                           "/dev/net/tun", "/dev/fuse", "/dev/dri/card0", "/dev/loop-control",
                           "/dev/btrfs-control", "/dev/mapper/control", "/dev/uinput"})
    attempt.Try(path, open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
}

constexpr Attack kAttacks[] = {
    {"syscall-sweep", SyscallSweep}, {"other-abis", OtherAbis},         {"bpf", Bpf},
    {"io-uring", IoUring},           {"user-fault", UserFault},         {"keys", Keys},
    {"families", Families},          {"module-loading", ModuleLoading}, {"netlink", Netlink},
    {"hypervisor", Hypervisor},
};

}  // namespace

std::span<const Attack> KernelAttacks() { return kAttacks; }

}  // namespace cloche::probe
