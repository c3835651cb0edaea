// A hostile client: whatever policy accepts becomes a plan that spawn accepts, and text that is
// safe to print.
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "plan_promises.h"
#include "policy/plan.h"
#include "policy/print.h"
#include "spawn/check.h"

namespace cloche::fuzz {
namespace {

using nlohmann::json;

constexpr std::string_view kWords[] = {"\"",
                                       "\\u0000",
                                       "\\u001b[2J",
                                       "/",
                                       "..",
                                       "//",
                                       "/etc",
                                       "/proc/1/root",
                                       "dir:/",
                                       "-1",
                                       "0",
                                       "1e308",
                                       "1e-308",
                                       "0.001",
                                       "99999999999999999999",
                                       "null",
                                       "true",
                                       "{",
                                       "[",
                                       "}",
                                       "]",
                                       ",",
                                       ":",
                                       "kill",
                                       "=",
                                       "\xff\xfe",
                                       "\\ud800",
                                       "\\u202e",
                                       "/dev",
                                       "/run/user",
                                       "/var/lib/cloche"};

constexpr std::string_view kPaths[] = {"/",
                                       "/etc",
                                       "/proc/self",
                                       "/dev/shm",
                                       "/home/anna",
                                       "/home/anna/project",
                                       "/home/bob/x",
                                       "/srv/a\n",
                                       "/root",
                                       "/var/run/x",
                                       "/var/lib/cloche",
                                       "/home/anna/.ssh",
                                       "/tmp/x/../y",
                                       "/mnt//x/",
                                       "/usr",
                                       "/sys",
                                       "/run/user/1000",
                                       "relative",
                                       "/media/disk",
                                       "/libx32",
                                       "/var",
                                       ""};

json Body() {
  return {{"name", "fix"},
          {"base", "host"},
          {"cwd", "/home/anna/project/src"},
          {"home", "/home/anna"},
          {"project", "/home/anna/project"},
          {"env", {"PATH=/usr/bin", "TERM=xterm"}},
          {"env_names", {"TOKEN"}},
          {"limits", {{"memory", 64 << 20}, {"cpu", 1.5}, {"wall", 10}}},
          {"ro", {"/srv/data"}},
          {"rw", {"/srv/out"}},
          {"hide", {"/srv/hidden"}},
          {"agent", "a"},
          {"task", "t"},
          {"labels", {{"team", "web"}}},
          {"on_violation", "report"},
          {"drop_root", false},
          {"argv", {"ls", "-l"}},
          {"pty", {{"rows", 24}, {"columns", 80}}},
          {"stdin", true},
          {"keep", false}};
}

json SomeValue(Random& random) {
  switch (random.Below(9)) {
    case 0:
      return random.Number();
    case 1:
      return -static_cast<int64_t>(random.Number() >> 1);
    case 2:
      return static_cast<double>(random.Number()) / 1e6;
    case 3:
      return nullptr;
    case 4:
      return random.OneIn(2);
    case 5:
      return json::array({random.Pick(kPaths), random.Pick(kPaths)});
    case 6:
      return json::object({{"inputs", {random.Pick(kPaths)}}, {"output", random.Pick(kPaths)}});
    case 7:
      return "dir:" + std::string(random.Pick(kPaths));
    default:
      return std::string(random.Pick(kPaths)) + std::string(random.Pick(kWords));
  }
}

void Spoil(Random& random, json& body) {
  constexpr const char* kLists[] = {"ro", "rw", "hide"};
  constexpr const char* kPlaces[] = {"cwd", "home", "project"};
  constexpr const char* kLimits[] = {"cpu",    "memory", "disk", "inodes", "pids",     "files",
                                     "output", "wall",   "idle", "life",   "commands", "denials"};
  auto any = body.begin();
  std::advance(any, static_cast<long>(random.Below(body.size())));
  switch (random.Below(8)) {
    case 0:
      *any = SomeValue(random);
      break;
    case 1:
      body.erase(any);
      break;
    case 2:
      body["limits"] = {{random.Pick(kLimits), SomeValue(random)}};
      break;
    case 3:
      body["declared"] = {{"inputs", {random.Pick(kPaths)}}, {"output", random.Pick(kPaths)}};
      for (const char* list : kLists) body.erase(list);
      break;
    case 4:
      body["base"] = "dir:" + std::string(random.Pick(kPaths));
      break;
    case 5:
      body[random.Pick(kPlaces)] = random.Pick(kPaths);
      break;
    default:
      body[random.Pick(kLists)] = {random.Pick(kPaths), random.Pick(kPaths)};
  }
}

HostFacts Machine(Random& random, Mode mode) {
  HostFacts facts{.mode = mode,
                  .kernel_major = 6,
                  .kernel_minor = random.OneIn(2) ? 1 : 12,
                  .hostname = "box",
                  .mounts = {{"/sys", "sysfs", "sysfs"},
                             {"/proc", "proc", "proc"},
                             {"/dev", "udev", "devtmpfs"},
                             {"/dev/shm", "tmpfs", "tmpfs"},
                             {"/run", "tmpfs", "tmpfs"},
                             {"/run/user/1000", "tmpfs", "tmpfs"},
                             {"/", "/dev/sda1", "ext4"}},
                  .root_directories = {"/etc", "/home", "/root", "/srv", "/usr", "/var"},
                  .other_homes = {"/home/bob", "/root"},
                  .cloche_paths = {"/var/lib/cloche", "/run/cloche"},
                  .memory_bytes = uint64_t{16} << 30,
                  .cpus = 8,
                  .cgroup = random.OneIn(2) ? Cgroup::kV2 : Cgroup::kNone};
  if (random.OneIn(2)) facts.mounts.push_back({"/media/disk", "/dev/sdb1", "xfs"});
  if (random.OneIn(2)) facts.mounts.push_back({"/srv//deleted", "/dev/sdd1", "ext4"});
  if (random.OneIn(2)) facts.mounts.push_back({"/home", "/dev/sdc1", "vfat"});
  if (random.OneIn(2)) facts.mounts.push_back({"/etc/hosts", "/dev/sda1", "ext4", false, true});
  return facts;
}

void RequireLimitPromises(const KernelLimits& limits) {
  Require(limits.cpu_millis <= 1024 * 1000, "a limit of CPUs makes sense");
  Require(limits.memory_bytes == 0 || limits.memory_bytes >= 4 << 20, "memory to start with");
  Require(limits.memory_bytes <= uint64_t{1} << 50, "a limit of memory makes sense");
  Require(limits.disk_bytes <= uint64_t{1} << 50, "a limit of disk makes sense");
  Require(limits.pids == 0 || (limits.pids >= 2 && limits.pids <= 4'194'304), "a limit of pids");
}

}  // namespace

bool FuzzRequest(Random& random) {
  json body = Body();
  for (size_t left = random.Below(4); left > 0; --left)
    if (!body.empty()) Spoil(random, body);
  std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  if (random.OneIn(4)) text = Mutate(random, std::move(text), kWords);
  const json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return false;
  const auto request = ParseRunRequest(parsed);
  if (!request) {
    Require(!request.error().message.empty() && !request.error().cure.empty(),
            "a refused request is told why, and what to do", request.error().message);
    return false;
  }

  const Mode mode = random.OneIn(2) ? Mode::kSystem : Mode::kRootless;
  UserFacts user{
      .uid = 1000, .gid = 1000, .groups = {1000, 27}, .name = "anna", .home = "/home/anna"};
  if (mode == Mode::kSystem && random.OneIn(2))
    user = {.uid = 0, .gid = 0, .groups = {0}, .name = "root", .home = "/root"};
  const auto planned = MakePlan(Machine(random, mode), user, request->sandbox, "sb_fuzz");
  if (!planned) {
    Require(!planned.error().message.empty() && !planned.error().cure.empty(),
            "a refused sandbox is told why, and what to do", planned.error().message);
    return false;
  }
  Require(IsHarmlessOnATerminal(PlannedToText(*planned), true), "a plan can be printed", text);
  Require(IsHarmlessOnATerminal(DifferencesToText(*planned), true), "differences can be printed");
  sys::PeerIdentity peer;
  peer.uid = user.uid;
  peer.gid = user.gid;
  for (uint32_t group : planned->plan.spec.caller.groups) peer.groups[peer.group_count++] = group;
  const auto decoded = DecodePlan(EncodePlan(planned->plan));
  Require(decoded && *decoded == planned->plan, "policy's plan survives the way to spawn", text);
  const auto checked = spawn::CheckPlan(*decoded, peer, mode);
  Require(checked.has_value(), "policy asks for nothing that spawn refuses",
          checked ? "" : checked.error().operation + " " + checked.error().detail + "\n  " + text);
  RequirePlanPromises(*decoded, peer, mode);
  RequireLimitPromises(decoded->limits);
  return true;
}

}  // namespace cloche::fuzz
