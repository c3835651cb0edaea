#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "probe/probe.h"

namespace cloche::probe {
namespace {

Words Light(const Stage&, Place place) { return IsControl(place) ? Words{"light"} : Words{}; }

const char* IoUringIsOff(const Stage& stage) {
  const std::string mode = ReadAll("/proc/sys/kernel/io_uring_disabled");
  return mode == "2\n" || (mode == "1\n" && !stage.root()) ? "io_uring is off on this host already"
                                                           : nullptr;
}

const char* NoHypervisor(const Stage&) {
  for (const char* path : {"/dev/kvm", "/dev/net/tun", "/dev/fuse", "/dev/loop-control"})
    if (access(path, R_OK | W_OK) == 0) return nullptr;
  return "none of these devices may be opened outside either";
}

const char* KernelTracingIsOff(const Stage& stage) {
  return stage.root() || atoi(ReadAll("/proc/sys/kernel/perf_event_paranoid").c_str()) < 3
             ? nullptr
             : "perf and bpf are closed to ordinary users on this host already";
}

const char* NoOtherAbi(const Stage&) {
#if defined(__x86_64__)
  return nullptr;
#else
  return "this architecture has one system call interface";
#endif
}

Outcome Modules(Stage& stage) {
  const auto before = stage.Modules();
  for (const Place place : kWaysIn) {
    const Ran ran = RunToEnd(stage.At(place, "module-loading", {}));
    if (const Words evidence = stage.Evidence(ran); !evidence.empty())
      return Broken(fmt::format("{}: {}", PlaceName(place), Join(evidence)));
    if (!ran.Reported()) return DidNotRun(ran);
  }
  Words loaded;
  std::ranges::set_difference(stage.Modules(), before, std::back_inserter(loaded));
  if (!loaded.empty()) return Broken("loaded into the host's kernel: " + Join(loaded));
  return Held("no control: loading a module would change this machine");
}

constexpr Probe kKernel[] = {
    {"PK-02", "every system call the table denies, numbers 0 to 600", "syscall-sweep", nullptr,
     Place::kNamespaces},
    {"PK-03", "i386 and x32 system calls", "other-abis", nullptr, Place::kBare, NoOtherAbi},
    {"PK-06", "bpf, perf_event_open", "bpf", nullptr, Place::kBare, KernelTracingIsOff},
    {"PK-07", "io_uring", "io-uring", nullptr, Place::kBare, IoUringIsOff},
    {"PK-08", "userfaultfd", "user-fault"},
    {"PK-09", "kernel keyrings", "keys"},
    Scene("PK-16", "modules on demand: families, file systems, init_module", Modules),
    {"PK-21", "51 socket families, 6 types, 12 protocols", "families", Light},
    {"PK-22", "netlink beyond reading routes", "netlink", nullptr, Place::kNamespaces},
    {"PK-23", "hypervisor: vsock, /dev/kvm, tun, fuse", "hypervisor", nullptr, Place::kBare,
     NoHypervisor},
};

constexpr Promise kPromises[] = {{"the kernel offers only what the published table says", kKernel}};

}  // namespace

std::span<const Promise> KernelPromises() { return kPromises; }

}  // namespace cloche::probe
