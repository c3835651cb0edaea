#include "policy/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "policy/cures.h"
#include "policy/paths.h"
#include "policy/view.h"

namespace cloche {
namespace {

constexpr const char* kControllersCure =
    "boot with the memory, cpu and pids controllers of cgroup v2 (no cgroup_disable=), or leave "
    "the "
    "limit out";

// Whether the caller asked decides what a limit that cannot be kept becomes: a refusal or a note.
class LimitPlan {
 public:
  LimitPlan(const HostFacts& facts, const SandboxRequest& request, Planned& out)
      : facts_(facts), asked_(request.limits), in_memory_(request.in_memory), out_(out) {}

  Status Apply() {
    out_.limits = WithDefaults(asked_, facts_);
    if (facts_.cgroup == Cgroup::kNone) CLOCHE_TRY(WithoutCgroup());
    // Only a tmpfs counts files, and without root only a tmpfs counts bytes.
    const bool rootless = facts_.mode == Mode::kRootless;
    out_.plan.in_memory = in_memory_ || asked_.inodes || (rootless && asked_.disk);
    if (out_.plan.in_memory)
      CLOCHE_TRY(InMemory());
    else
      OnDisk();
    KernelLimits& kernel = out_.plan.limits;
    kernel.cpu_millis = static_cast<uint64_t>(std::llround(*out_.limits.cpu * 1000));
    kernel.memory_bytes = *out_.limits.memory;
    kernel.disk_bytes = *out_.limits.disk;
    kernel.inodes = *out_.limits.inodes;
    // Without a cgroup, RLIMIT_NPROC of each command does it.
    kernel.pids = facts_.cgroup == Cgroup::kNone ? 0 : *out_.limits.pids;
    return {};
  }

 private:
  Status WithoutCgroup() {
    const bool rootless = facts_.mode == Mode::kRootless;
    const char* where = rootless ? "no delegated cgroup here" : "no cgroup controllers here";
    const auto refuse = [&](const char* name) {
      return Fail(Code::kUnavailable, fmt::format("limit {}: {}", name, where),
                  rootless ? kDelegationCure : kControllersCure);
    };
    if (asked_.memory) return refuse("memory");
    if (asked_.cpu.value_or(0) > 0) return refuse("cpu");
    out_.limits.memory = 0;
    out_.limits.cpu = 0;
    out_.not_enforced.push_back(fmt::format("memory: {}", where));
    out_.not_enforced.push_back(fmt::format("cpu: {}", where));
    return {};
  }

  // The pool's btrfs counts bytes, those of its metadata too, but not files. Without root there is
  // no quota at all.
  void OnDisk() {
    out_.limits.inodes = 0;
    out_.not_enforced.emplace_back(
        "inodes: only counted in memory; --inodes keeps the changes there");
    if (facts_.mode != Mode::kRootless) return;
    out_.limits.disk = 0;
    out_.not_enforced.emplace_back(
        "disk: an ordinary user has no quota; --disk keeps the changes in memory instead");
  }

  // tmpfs holds overlay's attributes of an ordinary user since 6.6, shows true owners since 6.3.
  Status InMemory() {
    const int minor = facts_.mode == Mode::kRootless ? 6 : 3;
    const char* flag = in_memory_ ? "--in-memory" : asked_.inodes ? "--inodes" : "--disk";
    if (!facts_.KernelAtLeast(6, minor))
      return Fail(Code::kUnavailable,
                  fmt::format("keep changes in memory for {}: it takes Linux 6.{}, this is {}.{}",
                              flag, minor, facts_.kernel_major, facts_.kernel_minor),
                  facts_.mode == Mode::kRootless
                      ? fmt::format("run the daemon as root, or leave {} out", flag)
                      : fmt::format("leave {} out; --disk counts what files cost, too", flag));
    if (!asked_.disk && facts_.memory_bytes > 0)
      out_.limits.disk = std::min(kDefaultDisk, facts_.memory_bytes / 2);
    out_.differences.push_back({"changes are kept in memory",
                                in_memory_ ? "--in-memory asks for it"
                                           : fmt::format("only a tmpfs enforces {} here", flag)});
    return {};
  }

  const HostFacts& facts_;
  const Limits& asked_;
  const bool in_memory_;
  Planned& out_;
};

// The copy of a service's data is complete. Files that the original creates later must not show in
// it, and the root of an overlay always shows what is below: so nothing is below.
void KeepDataApart(const SandboxRequest& request, View& view) {
  for (MountOp& op : view.mounts)
    if (op.kind == MountKind::kOverlay && !op.read_only && op.target != "/")
      op.blank = std::ranges::any_of(request.services, [&](const ServiceRequest& service) {
        return std::ranges::find(service.data, op.target) != service.data.end();
      });
}

Result<View> MakeView(const ViewInput& input) {
  auto view = input.request.declared                  ? DeclaredOnlyView(input)
              : !input.request.base_directory.empty() ? DirectoryView(input)
              : input.facts.mode == Mode::kSystem     ? SystemView(input)
                                                      : RootlessView(input);
  if (!view) return view;
  HideSideStores(input, *view);
  KeepDataApart(input.request, *view);
  return view;
}

// Where the mask hides something, and nowhere else.
Status AddDecoys(const ViewInput& input, View& view, Planned& out) {
  const SandboxRequest& request = input.request;
  // A decoy's directory must not show what lies below it, and tmpfs can say so since then.
  if (input.facts.mode == Mode::kRootless && !input.facts.KernelAtLeast(6, 6))
    return Fail(Code::kUnavailable,
                fmt::format("lay decoys: rootless it takes Linux 6.6, this is {}.{}",
                            input.facts.kernel_major, input.facts.kernel_minor),
                "run the daemon as root, or leave --canaries out");
  const std::string& home = request.home.empty() ? input.user.home : request.home;
  const std::string project = GlobRoot(request);
  const auto is_hidden = [&](const std::string& path) {
    return std::ranges::any_of(view.files, [&](const FileRule& rule) {
      return rule.kind == FileRuleKind::kHide && IsAtOrBelow(path, rule.path);
    });
  };
  const bool searched = std::ranges::any_of(view.files, [&](const FileRule& rule) {
    return rule.kind == FileRuleKind::kHideGlob && rule.path == project;
  });
  for (const DecoyFile& file : DecoyFiles(request.canaries.decoys)) {
    const std::string path = JoinPath(file.of_project ? project : home, file.path);
    if (file.of_project ? !searched : !is_hidden(path)) continue;
    view.files.push_back(
        {file.of_project ? FileRuleKind::kDecoyInstead : FileRuleKind::kDecoy, path, file.content});
    out.decoys.push_back({path, file.kinds, file.of_project});
  }
  out.differences.push_back(
      {"credentials in some places are decoys", "--canaries: one that leaves is a violation"});
  return {};
}

void AddCommonDifferences(const SandboxRequest& request, std::vector<Difference>& out) {
  const bool base_is_host = request.base_directory.empty();
  out.push_back({"/dev holds only null, zero, full, random, urandom, tty, pts and shm",
                 "devices of the host are out of reach"});
  out.push_back({"/proc shows only the sandbox's own processes", "own process namespace"});
  if (base_is_host) {
    out.push_back({"/sys holds only the sandbox's own limits and the CPUs, read-only",
                   "the rest describes and steers the host's kernel"});
    out.push_back(
        {"services of the host do not run inside", "files are copied, processes are not"});
  }
  if (request.network.rules.empty())
    out.push_back({"the network is loopback only", "nothing leaves the sandbox"});
  else
    out.push_back({"the network is loopback and what was granted",
                   fmt::format("its rules ({}) decide about every connection and every name",
                               request.network.rules.size())});
  out.push_back({"set-user-id bits have no effect", "every mount is nosuid"});
}

}  // namespace

Result<Planned> MakePlan(const HostFacts& facts, const UserFacts& user,
                         const SandboxRequest& request, std::string sandbox_id) {
  const bool base_is_host = request.base_directory.empty();
  const ViewInput input{facts, user, request, DefaultHidden(facts, user, request)};
  CLOCHE_TRY(CheckGrants(input));
  ASSIGN_OR_RETURN(View view, MakeView(input));

  Planned out;
  if (request.canaries.wanted) CLOCHE_TRY(AddDecoys(input, view, out));
  out.plan.sandbox_id = std::move(sandbox_id);
  CLOCHE_TRY(LimitPlan(facts, request, out).Apply());

  SandboxSpec& spec = out.plan.spec;
  spec.mode = facts.mode;
  spec.caller = {user.uid, user.gid, user.groups};
  std::ranges::sort(spec.caller.groups);
  spec.base_is_host = base_is_host;
  spec.root_inside = facts.mode == Mode::kSystem && user.uid == 0 && !request.drop_root;
  spec.map_root = facts.mode == Mode::kRootless && !base_is_host && !request.drop_root;
  spec.hostname = facts.hostname;
  // Programs that count CPUs find as many as the quota is worth.
  spec.cpus = static_cast<uint32_t>((out.plan.limits.cpu_millis + 999) / 1000);
  spec.mounts = std::move(view.mounts);
  spec.files = std::move(view.files);

  std::ranges::move(view.differences, std::back_inserter(out.differences));
  if (base_is_host && !request.declared)
    std::ranges::copy(input.hidden.differences, std::back_inserter(out.differences));
  AddCommonDifferences(request, out.differences);
  out.hidden = std::move(view.hidden);
  out.cwd = std::move(view.cwd);
  if (out.cwd.empty()) out.cwd = !request.cwd.empty() ? request.cwd : "/";
  return out;
}

}  // namespace cloche
