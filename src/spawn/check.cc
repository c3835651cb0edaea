#include "spawn/check.h"

#include <errno.h>

#include <algorithm>

namespace cloche::spawn {
namespace {

constexpr size_t kMaxMounts = 1024;

bool IsPlainPath(const std::string& path) {
  if (path.empty() || path[0] != '/' || path.size() > 4095) return false;
  for (size_t at = 0; at < path.size();) {
    size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    if (part == ".." || part == "." || part.size() > 255) return false;
    at = end + 1;
  }
  return true;
}

// Policy refuses these too; here it holds whatever has become of cloched.
bool IsSystemPath(const std::string& path) {
  if (path == "/") return true;
  for (const char* top : {"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc",
                          "/run", "/sbin", "/sys", "/usr"})
    if (path == top || path.starts_with(std::string(top) + "/")) return true;
  return false;
}

bool IsId(const std::string& id) {
  if (id.size() < 4 || id.size() > 31 || !id.starts_with("sb_")) return false;
  return std::all_of(id.begin() + 3, id.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::unexpected<Failure> Refused(const char* what, int error, std::string detail = "") {
  return Failed(SpawnStage::kPlan, what, error, std::move(detail));
}

}  // namespace

Outcome<void> CheckPlan(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode) {
  const SandboxSpec& spec = plan.spec;
  if (!IsId(plan.sandbox_id)) return Refused("sandbox id", EINVAL, plan.sandbox_id);
  if (spec.mode != mode) return Refused("mode", EINVAL);
  if (spec.caller.uid != peer.uid || spec.caller.gid != peer.gid ||
      !std::ranges::equal(spec.caller.groups, std::span(peer.groups, peer.group_count)))
    return Refused("caller is not who the plan says", EPERM);
  // Root of the sandbox's user namespace reads every idmapped file of the base.
  if (spec.root_inside && (mode != Mode::kSystem || peer.uid != 0))
    return Refused("root inside needs a caller who is root", EPERM);
  if (spec.map_root && (mode != Mode::kRootless || spec.base_is_host))
    return Refused("mapped root needs a base that is not the host", EPERM);
  if (spec.hostname.empty() || spec.hostname.size() > 64) return Refused("host name", EINVAL);

  if (spec.mounts.empty() || spec.mounts.size() > kMaxMounts) return Refused("mounts", E2BIG);
  bool proc = false, dev = false;
  for (size_t i = 0; i < spec.mounts.size(); ++i) {
    const MountOp& op = spec.mounts[i];
    bool sourced = op.kind == MountKind::kOverlay || op.kind == MountKind::kBind;
    if (!IsPlainPath(op.target) || (i == 0) != (op.target == "/"))
      return Refused("mount target", EINVAL, op.target);
    if (sourced ? !IsPlainPath(op.source) : !op.source.empty())
      return Refused("mount source", EINVAL, op.source);
    if (op.kind == MountKind::kProc && op.target != "/proc") return Refused("proc target", EINVAL);
    if (op.kind == MountKind::kDev && op.target != "/dev") return Refused("dev target", EINVAL);
    if (op.kind == MountKind::kBind && !op.read_only && IsSystemPath(op.source))
      return Refused("writable bind of the system", EPERM, op.source);
    if ((op.mode & ~01777u) != 0) return Refused("mount mode", EINVAL, op.target);
    proc |= op.kind == MountKind::kProc;
    dev |= op.kind == MountKind::kDev;
  }
  if (!proc || !dev) return Refused("plan without its own /proc and /dev", EINVAL);
  for (const FileRule& rule : spec.files) {
    if (!IsPlainPath(rule.path)) return Refused("file rule", EINVAL, rule.path);
    if ((rule.mode & ~0777u) != 0) return Refused("file rule mode", EINVAL, rule.path);
  }
  return {};
}

}  // namespace cloche::spawn
