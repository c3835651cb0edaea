#include "spawn/check.h"

#include <errno.h>

#include <algorithm>

namespace cloche::spawn {
namespace {

constexpr size_t kMaxMounts = 1024;
constexpr size_t kMaxDecoys = 32, kMaxDecoy = 4096;  // and bytes of each

std::unexpected<Failure> Refused(const char* what, int error, std::string detail = "") {
  return Failed(SpawnStep::kPlan, what, error, std::move(detail));
}

// Allows only one spelling of a path: what is compared here must be what the kernel opens.
bool IsPlainPath(const std::string& path) {
  if (path == "/") return true;
  if (path.empty() || path[0] != '/' || path.size() > 4095) return false;
  for (size_t at = 1; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (part.empty() || part == ".." || part == "." || part.size() > 255) return false;
    at = end + 1;
  }
  return true;
}

bool IsAtOrBelow(const std::string& path, const char* directory) {
  return path == directory || path.starts_with(std::string(directory) + "/");
}

template <size_t N>
bool IsAtOrBelowAny(const std::string& path, const char* const (&directories)[N]) {
  return std::ranges::any_of(directories, [&](auto each) { return IsAtOrBelow(path, each); });
}

// Policy refuses these, too; here the check holds even if cloched is compromised.
constexpr const char* kSystem[] = {"/bin",   "/boot",  "/dev",    "/etc",    "/lib",
                                   "/lib32", "/lib64", "/libx32", "/proc",   "/run",
                                   "/sbin",  "/sys",   "/usr",    "/var/run"};
// The host's view of its own kernel must be neither copied nor shown.
constexpr const char* kKernel[] = {"/dev", "/proc", "/sys"};

OrFailure<void> CheckMount(const MountOp& op, bool first) {
  const bool sourced = op.kind == MountKind::kOverlay || op.kind == MountKind::kBind;
  if (!IsPlainPath(op.target) || first != (op.target == "/"))
    return Refused("mount target", EINVAL, op.target);
  if (sourced ? !IsPlainPath(op.source) : !op.source.empty())
    return Refused("mount source", EINVAL, op.source);
  if (sourced && IsAtOrBelowAny(op.source, kKernel))
    return Refused("mount of the host's kernel", EPERM, op.source);
  if (op.kind == MountKind::kBind && !op.read_only &&
      (op.source == "/" || IsAtOrBelowAny(op.source, kSystem)))
    return Refused("writable bind of the system", EPERM, op.source);
  if (op.blank && (op.kind != MountKind::kOverlay || op.read_only || first))
    return Refused("mount over nothing", EINVAL, op.target);
  if ((op.mode & ~01777u) != 0) return Refused("mount mode", EINVAL, op.target);
  return {};
}

// The sandbox's own /sys, /proc and /dev come last, and once: nothing may cover them.
OrFailure<void> CheckMounts(const std::vector<MountOp>& mounts) {
  const size_t count = mounts.size();
  if (count > kMaxMounts) return Refused("mounts", E2BIG);
  const auto is_last = [&](size_t from_end, MountKind kind, const char* target) {
    const MountOp& op = mounts[count - from_end];
    return op.kind == kind && op.target == target;
  };
  if (count < 3 || !is_last(2, MountKind::kProc, "/proc") || !is_last(1, MountKind::kDev, "/dev"))
    return Refused("plan without its own /proc and /dev", EINVAL);
  for (size_t i = 0; i < count; ++i) {
    const bool own = mounts[i].kind == MountKind::kProc || mounts[i].kind == MountKind::kDev;
    if (own && i + 2 < count) return Refused("second /proc or /dev", EINVAL, mounts[i].target);
    if (mounts[i].kind == MountKind::kSys && (i + 3 != count || mounts[i].target != "/sys"))
      return Refused("second /sys", EINVAL, mounts[i].target);
    if (auto checked = CheckMount(mounts[i], i == 0); !checked) return checked;
  }
  return {};
}

bool IsId(std::string_view id, std::string_view prefix) {
  if (id.size() < 4 || id.size() > 31 || !id.starts_with(prefix)) return false;
  return std::all_of(id.begin() + 3, id.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

}  // namespace

bool IsSandboxId(std::string_view id) { return IsId(id, "sb_"); }
bool IsSnapshotId(std::string_view id) { return IsId(id, "sn_"); }

OrFailure<void> CheckPlan(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode) {
  const SandboxSpec& spec = plan.spec;
  if (!IsSandboxId(plan.sandbox_id)) return Refused("sandbox id", EINVAL, plan.sandbox_id);
  if (plan.in_memory && plan.limits.disk_bytes == 0) return Refused("unlimited memory", EINVAL);
  if (spec.mode != mode) return Refused("mode", EINVAL);
  if (spec.caller.uid != peer.uid || spec.caller.gid != peer.gid ||
      !std::ranges::equal(spec.caller.groups, std::span(peer.groups, peer.group_count)))
    return Refused("caller is not who the plan says", EPERM);
  // Root of the sandbox's user namespace can read every idmapped file of the base.
  if (spec.root_inside && (mode != Mode::kSystem || peer.uid != 0))
    return Refused("root inside needs a caller who is root", EPERM);
  if (spec.map_root && (mode != Mode::kRootless || spec.base_is_host))
    return Refused("mapped root needs a base that is not the host", EPERM);
  if (spec.hostname.empty() || spec.hostname.size() > 64) return Refused("host name", EINVAL);

  if (auto checked = CheckMounts(spec.mounts); !checked) return checked;
  size_t decoys = 0;
  for (const FileRule& rule : spec.files) {
    if (!IsPlainPath(rule.path)) return Refused("file rule", EINVAL, rule.path);
    if (rule.kind != FileRuleKind::kDecoy && rule.kind != FileRuleKind::kDecoyInstead) continue;
    if (++decoys > kMaxDecoys || rule.content.size() > kMaxDecoy)
      return Refused("decoys", E2BIG, rule.path);
  }
  return {};
}

}  // namespace cloche::spawn
