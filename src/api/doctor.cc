#include <fmt/format.h>

#include "api/session.h"
#include "sys/landlock.h"
#include "sys/seccomp.h"

namespace cloche::api {
namespace {

Json Check(const char* name, const char* status, std::string detail, std::string cure = "") {
  return {
      {"name", name}, {"status", status}, {"detail", std::move(detail)}, {"cure", std::move(cure)}};
}

// Kernels below these lines have public escapes from namespaces or page-cache writes. A
// distribution may have fixed them without changing the number: weak, not missing.
Json KernelCheck(const HostFacts& facts) {
  std::string version = fmt::format("Linux {}.{}", facts.kernel_major, facts.kernel_minor);
  if (!facts.KernelAtLeast(6, 1))
    return Check("kernel", "missing", version + " is older than 6.1, the oldest supported",
                 "upgrade the kernel");
  return Check("kernel", "ok", version);
}

Json CgroupCheck(const Engine& engine) {
  switch (engine.cgroups().version) {
    case sys::CgroupVersion::kV2:
      return Check("cgroup", "ok", "v2: CPU, memory and process limits are enforced");
    case sys::CgroupVersion::kV1:
      return Check("cgroup", "ok", "v1 controllers: CPU, memory and process limits are enforced");
    default:
      return Check("cgroup", "weak",
                   engine.cgroups().why_not +
                       ": --memory and --cpu are refused, processes are "
                       "limited by RLIMIT_NPROC",
                   "systemd-run --user --scope -p Delegate=yes cloche ..., or run as root");
  }
}

Json LandlockCheck() {
  int abi = sys::LandlockAbi();
  if (abi < 1)
    return Check("landlock", "missing", "not available: sandboxes are refused",
                 "boot with lsm=landlock,... (CONFIG_SECURITY_LANDLOCK)");
  return Check("landlock", abi >= 6 ? "ok" : "weak",
               fmt::format("ABI {}{}", abi,
                           abi >= 6 ? "" : ": no scoping of signals and abstract sockets (6.12+)"));
}

}  // namespace

Task<Response> ServeDoctor(Engine& engine, const Client&) {
  const HostFacts& facts = engine.FreshFacts();
  const bool system = engine.mode() == Mode::kSystem;
  Json checks = Json::array();
  checks.push_back(
      Check("mode", "info",
            system ? "system: the whole machine is copied, copy-on-write"
                   : "rootless: home and project are copy-on-write, the rest is read-only",
            system ? "" : "run cloche as root for a copy of the whole machine"));
  checks.push_back(KernelCheck(facts));
  checks.push_back(Check("sandbox", "ok", "cloche-spawn is ready"));
  checks.push_back(CgroupCheck(engine));
  checks.push_back(LandlockCheck());
  checks.push_back(Check("seccomp", "ok",
                         fmt::format("allowlist of {} BPF instructions, denials are reported",
                                     sys::CompileSandboxFilter().code.size())));
  checks.push_back(Check("disk limit", system || facts.KernelAtLeast(6, 6) ? "ok" : "weak",
                         system ? "btrfs pool with quotas"
                         : facts.KernelAtLeast(6, 6)
                             ? "with --disk: a sized tmpfs; without: not limited"
                             : "--disk is refused before Linux 6.6 without root"));
  checks.push_back(Check("network", "ok", "none: a loopback-only network namespace"));
  co_return JsonResponse({{"id", "doctor"},
                          {"mode", system ? "system" : "rootless"},
                          {"version", CLOCHE_VERSION},
                          {"kernel", fmt::format("{}.{}", facts.kernel_major, facts.kernel_minor)},
                          {"checks", checks}});
}

}  // namespace cloche::api
