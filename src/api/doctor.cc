#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "api/doctor_kernel.h"
#include "api/handlers.h"
#include "base/spawn_protocol.h"
#include "daemon/last_words.h"
#include "sys/apparmor.h"
#include "sys/file.h"
#include "sys/landlock.h"
#include "sys/seccomp.h"

namespace cloche::api {
namespace {

Json Check(const char* name, const char* status, std::string detail, std::string cure = "") {
  return {
      {"name", name}, {"status", status}, {"detail", std::move(detail)}, {"cure", std::move(cure)}};
}

Json ModeCheck(bool system) {
  if (system) return Check("mode", "info", "system: the whole machine is copied, copy-on-write");
  return Check("mode", "info",
               "rootless: home and project are copy-on-write, the rest is read-only",
               "run cloche as root for a copy of the whole machine");
}

Json KernelCheck(const HostFacts& facts, KernelVersion version) {
  if (!facts.KernelAtLeast(6, 1))
    return Check("kernel", "missing",
                 fmt::format("Linux {} is older than 6.1, the oldest supported", version.Text()),
                 "upgrade the kernel");
  return Check("kernel", "ok", "Linux " + version.Text());
}

// The version is evidence, not proof: distributions add fixes and keep the number. So never more
// than weak, and only where a sandbox can reach the bug.
Json KernelBugCheck(const std::vector<KernelBug>& bugs) {
  if (bugs.empty())
    return Check("kernel bugs", "ok",
                 fmt::format("this version has the {} fixes that were on our list on {}",
                             KnownKernelBugs().size(), kKernelFixesAsOf));
  const bool reachable = std::ranges::any_of(bugs, &KernelBug::reachable);
  std::string names;
  for (const KernelBug& bug : bugs)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", bug.cve,
                         bug.reachable ? "" : " (closed inside)");
  Json check = Check(
      "kernel bugs", reachable ? "weak" : "info",
      fmt::format("the upstream version is below the fixes of {} (our list is of {}); your "
                  "distribution may have added them",
                  names, kKernelFixesAsOf),
      "install its newest kernel and restart; what it has fixed: apt changelog linux-image-$(uname "
      "-r), or rpm -q --changelog kernel-core");
  check["cves"] = Json::array();
  for (const KernelBug& bug : bugs)
    check["cves"].push_back({{"id", bug.cve},
                             {"what", bug.what},
                             {"reachable_inside", bug.reachable},
                             {"fixed_in", bug.mainline.Text()}});
  return check;
}

Json UserCheck() {
  const uid_t uid = getuid();
  if (const passwd* entry = getpwuid(uid))
    return Check("user", "ok", fmt::format("the daemon runs as {}", entry->pw_name));
  return Check(
      "user", "weak",
      fmt::format(
          "the daemon runs as uid {}, which belongs to no account and may become somebody's", uid),
      fmt::format("make install makes the user cloche; then end the daemon: kill {}", getpid()));
}

Json UnreadableRecords(const Daemon& daemon, const Client& client) {
  Json list = daemon.sandboxes.UnreadableJson(client);
  for (Json& each : daemon.snapshots.UnreadableJson(client)) list.push_back(std::move(each));
  return list;
}

Json CgroupCheck(const Daemon& daemon) {
  switch (daemon.machine.cgroups().version) {
    case sys::CgroupVersion::kV2:
      return Check("cgroup", "ok", "v2: CPU, memory and process limits are enforced");
    case sys::CgroupVersion::kV1:
      return Check("cgroup", "ok", "v1 controllers: CPU, memory and process limits are enforced");
    default:
      return Check(
          "cgroup", "weak",
          daemon.machine.cgroups().why_not +
              ": --memory and --cpu are refused, processes are limited by RLIMIT_NPROC",
          daemon.machine.mode() == Mode::kSystem
              ? "boot with the memory, cpu and pids controllers of cgroup v2"
              : fmt::format("kill {}; systemctl --user enable --now cloched.socket (the unit comes "
                            "with make install), or run as root",
                            getpid()));
  }
}

Json LandlockCheck() {
  int abi = sys::LandlockAbi();
  if (abi < 1)
    return Check("landlock", "missing", "not available: sandboxes are refused",
                 "boot with lsm=landlock,... (CONFIG_SECURITY_LANDLOCK)");
  if (abi < 6)
    return Check("landlock", "weak",
                 fmt::format("ABI {}: no scoping of signals and abstract sockets, the namespaces "
                             "alone hold them",
                             abi),
                 "use Linux 6.12 or newer");
  return Check("landlock", "ok", fmt::format("ABI {}", abi));
}

Json AppArmorCheck(uint32_t flags) {
  if ((flags & kFlagAppArmor) != 0)
    return Check("apparmor", "ok", fmt::format("profile {} is enforced", sys::kAppArmorProfile));
  if ((flags & kFlagAppArmorMissing) != 0)
    return Check(
        "apparmor", "weak",
        fmt::format("active, but the profile {} was not loaded when the daemon started",
                    sys::kAppArmorProfile),
        fmt::format("make install as root loads it; then end the daemon: kill {}", getpid()));
  return Check("apparmor", "info", "not active on this kernel; no other layer needs it");
}

Json DiskCheck(bool system, const HostFacts& facts) {
  if (system) return Check("disk limit", "ok", "btrfs pool with quotas");
  if (facts.KernelAtLeast(6, 6))
    return Check("disk limit", "ok", "with --disk: a sized tmpfs; without: not limited");
  return Check("disk limit", "weak", "--disk is refused before Linux 6.6 without root",
               "use Linux 6.6 or newer, or run as root");
}

// Counted by user, and no namespace has a count of its own.
Json SharedCheck() {
  const int64_t watches = sys::ReadNumberAt(AT_FDCWD, "/proc/sys/fs/epoll/max_user_watches");
  const int64_t pages = sys::ReadNumberAt(AT_FDCWD, "/proc/sys/fs/pipe-user-pages-soft");
  return Check(
      "shared counts", "weak",
      fmt::format("sandboxes run as your user: one can use up your {} epoll watches, and programs "
                  "of yours that want more fail until it ends; with the {} pages your pipes may "
                  "have it leaves new pipes of yours two pages each",
                  watches, pages),
      "sandboxes of a daemon that root started have counts of their own");
}

std::string ReadLine(const char* path) {
  std::string text;
  sys::ReadFileAt(AT_FDCWD, path, text);
  return text;
}

// Whether the kernel can redirect connections to us shows when the first one is granted: it may
// have to load modules for that.
Json NetworkCheck() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!std::filesystem::exists(self.parent_path() / "cloche-egress", error))
    return Check("network", "weak", "none, and none can be granted: cloche-egress is not installed",
                 "install it beside cloched");
  return Check("network", "ok",
               "none: a loopback-only network namespace; what is granted passes cloche-egress");
}

Json RecordCheck(const Json& unreadable) {
  if (unreadable.empty()) return Check("records", "ok", "all of your sandboxes can be read");
  std::string detail, cure;
  for (const Json& each : unreadable) {
    const std::string name = each["name"];
    detail += fmt::format("{}{}{}: {}", detail.empty() ? "" : "; ", each["id"].get<std::string>(),
                          name.empty() ? "" : " (" + name + ")", each["reason"].get<std::string>());
    cure += fmt::format("{}{}", cure.empty() ? "" : "; ", each["remove"].get<std::string>());
  }
  Json check = Check("records", "weak", std::move(detail),
                     "use the version of cloche that wrote them, or remove them: " + cure);
  check["unreadable"] = unreadable;
  return check;
}

// Bugs of a month; ends by a signal from outside are only listed.
Json EndsCheck(const std::string& directory) {
  constexpr int64_t kRecent = 30 * 24 * 3600;
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  Json recent = Json::array();
  bool bug = false;
  for (const Json& each : daemon::ReadEnds(directory)) {
    if (!each.contains("at") || !each["at"].is_number_integer() || !each.contains("why") ||
        !each["why"].is_string() || now - each["at"].get<int64_t>() > kRecent)
      continue;
    bug |= each["kind"] != "gone";
    recent.push_back(each);
  }
  if (recent.empty()) return Check("daemon", "ok", "none has ended or failed unexpectedly lately");
  const Json& last = recent.back();
  const std::string at = daemon::Rfc3339(
      std::chrono::system_clock::time_point(std::chrono::seconds(last["at"].get<int64_t>())));
  Json check =
      Check("daemon", bug ? "weak" : "info",
            fmt::format("{} unexpected {} in 30 days, the last at {}: {}", recent.size(),
                        recent.size() == 1 ? "end or failure" : "ends or failures", at,
                        last["why"].get<std::string>()),
            bug ? fmt::format("please report it, with {}/ends.jsonl and {}/cloched.log.before",
                              directory, directory)
                : "");
  check["ends"] = std::move(recent);
  return check;
}

}  // namespace

Task<Response> ShowDoctor(Call& call) {
  Daemon& daemon = call.daemon;
  const HostFacts& facts = daemon.machine.FreshFacts();
  const bool system = daemon.machine.mode() == Mode::kSystem;
  const KernelVersion version =
      UpstreamVersion(ReadLine("/proc/sys/kernel/osrelease"), ReadLine("/proc/sys/kernel/version"));
  Json checks = Json::array();
  checks.push_back(ModeCheck(system));
  checks.push_back(KernelCheck(facts, version));
  checks.push_back(KernelBugCheck(BugsBelow(version)));
  checks.push_back(Check("sandbox", "ok", "cloche-spawn is ready"));
  if (system) checks.push_back(UserCheck());
  checks.push_back(CgroupCheck(daemon));
  checks.push_back(LandlockCheck());
  checks.push_back(Check("seccomp", "ok",
                         fmt::format("allowlist of {} BPF instructions, denials are reported",
                                     sys::CompileSandboxFilter().code.size())));
  checks.push_back(AppArmorCheck(daemon.spawn.ready_flags()));
  checks.push_back(DiskCheck(system, facts));
  if (!system) checks.push_back(SharedCheck());
  checks.push_back(NetworkCheck());
  checks.push_back(RecordCheck(UnreadableRecords(daemon, call.client)));
  checks.push_back(EndsCheck(daemon.machine.state_directory() + "/daemon"));
  const Json answer = {{"id", "doctor"},
                       {"mode", system ? "system" : "rootless"},
                       {"version", CLOCHE_VERSION},
                       {"kernel", version.Text()},
                       {"checks", checks}};
  co_return JsonResponse(answer);
}

}  // namespace cloche::api
