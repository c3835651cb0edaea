// A hostile cloched: whatever spawn decodes and does not refuse must be harmless. The promises are
// written here a second time, in other words than in src/spawn/check.cc.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/launch_plan.h"
#include "fuzz.h"
#include "plan_promises.h"
#include "spawn/check.h"

namespace cloche::fuzz {
namespace {

constexpr std::string_view kPaths[] = {"/",
                                       "//",
                                       "///etc",
                                       "//etc/cron.d",
                                       "/etc",
                                       "/etc/",
                                       "/etc/.",
                                       "/etc/..",
                                       "/./etc",
                                       "/usr",
                                       "/usr/../etc",
                                       "/home/me",
                                       "/home/me/.",
                                       "/home//me",
                                       "/proc",
                                       "/proc/1/root",
                                       "//proc",
                                       "/dev",
                                       "/dev/",
                                       "/dev/sda",
                                       "/sys/fs",
                                       "/run",
                                       "/var/run",
                                       "/var/run/",
                                       "/tmp",
                                       "/libx32",
                                       "/root",
                                       "relative",
                                       "",
                                       ".",
                                       "..",
                                       "/..",
                                       "/../..",
                                       "/a/../../etc",
                                       "/etcetera",
                                       "/procession",
                                       "/mnt",
                                       "/mnt/a",
                                       "/home/me/\n",
                                       "/\x1b[2J",
                                       "/b\xff"};
constexpr std::string_view kIds[] = {"sb_a",   "sb_",  "sb_../x", "sb_a/b",
                                     "sb_A",   "../x", "",        "sb_0123456789012345678901234567",
                                     "sb_a.b", "sb_\n"};
constexpr std::string_view kWords[] = {"/", "..", "/etc", "/proc", "sb_", "\xff\xff\xff\xff"};

std::string Path(Random& random) {
  std::string path(random.Pick(kPaths));
  if (random.OneIn(4)) path += random.Pick(kPaths);
  if (random.OneIn(64)) path += std::string(random.Below(5000), 'x');
  if (random.OneIn(64)) path += '\0';
  return path;
}

sys::PeerIdentity Peer(Random& random) {
  constexpr uint32_t kUids[] = {0, 1000, 65536, 4'000'000'000};
  sys::PeerIdentity peer;
  peer.uid = random.Pick(kUids);
  peer.gid = peer.uid;
  peer.groups[peer.group_count++] = peer.uid;
  return peer;
}

LaunchPlan Honest(const sys::PeerIdentity& peer, Mode mode) {
  LaunchPlan plan;
  plan.sandbox_id = "sb_abc234";
  plan.spec.mode = mode;
  plan.spec.caller = {peer.uid, peer.gid, {peer.groups, peer.groups + peer.group_count}};
  plan.spec.root_inside = mode == Mode::kSystem && peer.uid == 0;
  plan.spec.hostname = "here";
  plan.spec.mounts = {{.kind = MountKind::kOverlay, .source = "/", .target = "/"},
                      {.kind = MountKind::kTmpfs, .source = "", .target = "/run"},
                      {.kind = MountKind::kBind, .source = "/home/me", .target = "/home/me"},
                      {.kind = MountKind::kProc, .source = "", .target = "/proc"},
                      {.kind = MountKind::kDev, .source = "", .target = "/dev"}};
  plan.spec.files = {{FileRuleKind::kHide, "/root/.ssh", ""},
                     {FileRuleKind::kHideGlob, "/home/me", ".env\n"}};
  return plan;
}

MountOp SomeMount(Random& random) {
  MountOp op;
  op.kind = static_cast<MountKind>(random.Below(5));
  if (!random.OneIn(3)) op.source = Path(random);
  op.target = Path(random);
  op.read_only = random.OneIn(2);
  op.recursive = random.OneIn(2);
  op.optional = random.OneIn(2);
  op.size_bytes = random.Number();
  if (random.OneIn(4)) op.mode = static_cast<uint32_t>(random.Number());
  return op;
}

void Spoil(Random& random, LaunchPlan& plan) {
  SandboxSpec& spec = plan.spec;
  MountOp& some = random.Pick(spec.mounts);
  switch (random.Below(14)) {
    case 0:
      plan.sandbox_id = random.Pick(kIds);
      break;
    case 1:
      spec.caller.uid = static_cast<uint32_t>(random.Number());
      break;
    case 2:
      spec.caller.groups.push_back(static_cast<uint32_t>(random.Number()));
      break;
    case 3:
      spec.root_inside = !spec.root_inside;
      break;
    case 4:
      spec.map_root = true;
      spec.base_is_host = random.OneIn(2);
      break;
    case 5:
      spec.hostname = std::string(random.Below(70), 'h');
      break;
    case 6:
      some.source = Path(random);
      break;
    case 7:
      some.target = Path(random);
      break;
    case 8:
      some.mode = static_cast<uint32_t>(random.Number());
      break;
    case 9:
      some.kind = static_cast<MountKind>(random.Below(5));
      break;
    case 10:
      std::swap(some, random.Pick(spec.mounts));
      break;
    case 11:
      spec.files.push_back({static_cast<FileRuleKind>(random.Below(5)), Path(random), "x\n"});
      break;
    case 12:
      plan.limits.memory_bytes = random.Number();
      break;
    default:
      spec.mounts.insert(
          spec.mounts.begin() + static_cast<long>(random.Below(spec.mounts.size() + 1)),
          SomeMount(random));
  }
}

}  // namespace

void RequirePlanPromises(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode) {
  const SandboxSpec& spec = plan.spec;
  const auto first_name = [](const std::filesystem::path& path) {
    auto part = ++path.begin();
    return part == path.end() ? std::string() : part->string();
  };
  const auto is_shortest = [](const std::string& path) {
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    return path.starts_with('/') && path == normal && (path == "/" || !path.ends_with('/')) &&
           path.size() < 4096 && path.find('\0') == path.npos;
  };
  Require(plan.sandbox_id.starts_with("sb_") && plan.sandbox_id.size() < 32 &&
              plan.sandbox_id.find_first_of("/.\n ") == std::string::npos,
          "an id is a plain file name", plan.sandbox_id);
  Require(spec.mode == mode, "the mode is spawn's own");
  Require(spec.caller.uid == peer.uid && spec.caller.gid == peer.gid &&
              std::equal(spec.caller.groups.begin(), spec.caller.groups.end(), peer.groups,
                         peer.groups + peer.group_count),
          "the caller is the peer");
  Require(!spec.root_inside || (mode == Mode::kSystem && peer.uid == 0), "root inside is root");
  Require(!spec.map_root || (mode == Mode::kRootless && !spec.base_is_host), "mapped root");
  Require(!spec.hostname.empty() && spec.hostname.size() <= 64, "a host name fits");
  // One extent for 0 to 65535 and one for each larger id: they fit a slot, and the kernel's 340.
  Require(spec.caller.groups.size() <= 256, "ids fit a slot");

  const size_t count = spec.mounts.size();
  Require(count >= 3 && count <= 1024, "a bounded number of mounts");
  const std::set<std::string> system = {"bin",    "boot", "dev", "etc",  "lib", "lib32", "lib64",
                                        "libx32", "proc", "run", "sbin", "sys", "usr"};
  for (size_t i = 0; i < count; ++i) {
    const MountOp& op = spec.mounts[i];
    const bool sourced = op.kind == MountKind::kOverlay || op.kind == MountKind::kBind;
    Require(is_shortest(op.target), "a target lies in the sandbox, in one spelling", op.target);
    Require((op.target == "/") == (i == 0), "the first mount is the root, and no other", op.target);
    Require(sourced ? is_shortest(op.source) : op.source.empty(), "a source has one spelling",
            op.source);
    const std::string name = sourced ? first_name(op.source) : "";
    Require(name != "proc" && name != "sys" && name != "dev", "no kernel file system of the host",
            op.source);
    Require(op.kind != MountKind::kBind || op.read_only ||
                (op.source != "/" && !system.contains(name) &&
                 !op.source.starts_with("/var/run/") && op.source != "/var/run"),
            "no writable bind of the system", op.source);
    Require(op.mode <= 01777, "no set-user-id bit in a mode", std::to_string(op.mode));
    Require(op.kind != MountKind::kSys || (i + 3 == count && op.target == "/sys"),
            "/sys comes before /proc and /dev, at its place", op.target);
    Require((op.kind == MountKind::kProc) == (i + 2 == count) &&
                (op.kind == MountKind::kDev) == (i + 1 == count),
            "/proc and /dev are the last two, and only those", op.target);
  }
  Require(spec.mounts[count - 2].target == "/proc" && spec.mounts[count - 1].target == "/dev",
          "/proc and /dev are at their places");
  for (const FileRule& rule : spec.files)
    Require(is_shortest(rule.path), "a file rule has one spelling", rule.path);
}

bool FuzzPlan(Random& random) {
  const sys::PeerIdentity peer = Peer(random);
  const Mode mode = random.OneIn(2) ? Mode::kSystem : Mode::kRootless;
  LaunchPlan plan = Honest(peer, mode);
  for (size_t left = random.Below(4); left > 0; --left) Spoil(random, plan);
  std::string bytes = EncodePlan(plan);
  if (random.OneIn(3)) bytes = Mutate(random, std::move(bytes), kWords);

  const Result<LaunchPlan> decoded = DecodePlan(bytes);
  if (!decoded) return false;
  Require(EncodePlan(*decoded) == bytes, "a plan has one encoding");
  if (!spawn::CheckPlan(*decoded, peer, mode)) return false;
  RequirePlanPromises(*decoded, peer, mode);
  return true;
}

}  // namespace cloche::fuzz
