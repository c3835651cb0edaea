#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "probe/probe.h"

namespace cloche::probe {
namespace {

Words Light(const TestBed&, Site place) { return IsControl(place) ? Words{"light"} : Words{}; }

const char* IoUringIsOff(const TestBed& bed) {
  const std::string mode = ReadAll("/proc/sys/kernel/io_uring_disabled");
  return mode == "2\n" || (mode == "1\n" && !bed.root()) ? "io_uring is off on this host already"
                                                         : nullptr;
}

const char* NoHypervisor(const TestBed&) {
  for (const char* path : {"/dev/kvm", "/dev/net/tun", "/dev/fuse", "/dev/loop-control"})
    if (access(path, R_OK | W_OK) == 0) return nullptr;
  return "none of these devices may be opened outside either";
}

const char* KernelTracingIsOff(const TestBed& bed) {
  return bed.root() || atoi(ReadAll("/proc/sys/kernel/perf_event_paranoid").c_str()) < 3
             ? nullptr
             : "perf and bpf are closed to ordinary users on this host already";
}

const char* NoOtherAbi(const TestBed&) {
#if defined(__x86_64__)
  return nullptr;
#else
  return "this architecture has one system call interface";
#endif
}

ProbeResult Modules(TestBed& bed) {
  const auto before = bed.Modules();
  for (const Site place : kWaysIn) {
    const Ran ran = RunToEnd(bed.At(place, "module-loading", {}));
    if (const Words evidence = bed.Evidence(ran); !evidence.empty())
      return Broken(fmt::format("{}: {}", SiteName(place), Join(evidence)));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  Words loaded;
  std::ranges::set_difference(bed.Modules(), before, std::back_inserter(loaded));
  if (!loaded.empty()) return Broken("loaded into the host's kernel: " + Join(loaded));
  return Held("no control: loading a module would change this machine");
}

constexpr Probe kKernel[] = {
    {"PK-02", "every system call the table denies, numbers 0 to 600", "syscall-sweep", nullptr,
     Site::kNamespaces},
    {"PK-03", "i386 and x32 system calls", "other-abis", nullptr, Site::kBare, NoOtherAbi},
    {"PK-06", "bpf, perf_event_open", "bpf", nullptr, Site::kBare, KernelTracingIsOff},
    {"PK-07", "io_uring", "io-uring", nullptr, Site::kBare, IoUringIsOff},
    {"PK-08", "userfaultfd", "user-fault"},
    {"PK-09", "kernel keyrings", "keys"},
    Scene("PK-16", "modules on demand: families, file systems, init_module", Modules),
    {"PK-21", "51 socket families, 6 types, 12 protocols", "families", Light},
    {"PK-22", "netlink beyond reading routes", "netlink", nullptr, Site::kNamespaces},
    {"PK-23", "hypervisor: vsock, /dev/kvm, tun, fuse", "hypervisor", nullptr, Site::kBare,
     NoHypervisor},
};

constexpr Promise kPromises[] = {{"the kernel offers only what the published table says", kKernel}};

}  // namespace

std::span<const Promise> KernelPromises() { return kPromises; }

}  // namespace cloche::probe
