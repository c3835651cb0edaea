#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/side_store_name.h"
#include "policy/paths.h"
#include "policy/view.h"

namespace cloche {
namespace {

using namespace std::string_view_literals;

// Writing there for real would change the host itself, or reach a service that runs as root.
constexpr std::array kNeverWritable = {"/bin"sv,   "/boot"sv,  "/dev"sv,    "/etc"sv,    "/lib"sv,
                                       "/lib32"sv, "/lib64"sv, "/libx32"sv, "/proc"sv,   "/run"sv,
                                       "/sbin"sv,  "/sys"sv,   "/usr"sv,    "/var/run"sv};
constexpr std::array kOfTheKernel = {"/dev"sv, "/proc"sv, "/sys"sv};
// These exist inside, but are the sandbox's own.
constexpr std::array kOwnInside = {"/dev"sv, "/proc"sv, "/run"sv, "/sys"sv, "/var/run"sv};

bool Overlap(std::string_view a, std::string_view b) {
  return IsAtOrBelow(a, b) || IsAtOrBelow(b, a);
}

Status CheckCloche(const ViewInput& input, std::string_view field, std::string_view path) {
  for (const std::string& own : input.facts.cloche_paths)
    if (Overlap(path, own))
      return Fail(Code::kDenied,
                  fmt::format("grant {} {}: Cloche keeps its state in {}", field, path, own),
                  "name a directory that holds no part of it");
  return {};
}

// Only cloche-promote may use a side store.
Status CheckSideStore(std::string_view field, std::string_view path) {
  if ((std::string(path) + "/").find(fmt::format("/{}/", kSideStoreName)) == std::string::npos)
    return {};
  return Fail(Code::kDenied,
              fmt::format("grant {} {}: promotions keep there what they replaced", field, path),
              "cloche undo brings it back");
}

Status CheckWritable(const ViewInput& input, std::string_view field, std::string_view path) {
  CLOCHE_TRY(CheckSideStore(field, path));
  const auto deny = [&](std::string_view reason, std::string_view cure) {
    return Fail(Code::kDenied, fmt::format("grant {} {}: {}", field, path, reason),
                std::string(cure));
  };
  if (path == "/" || IsAtOrBelowAny(path, kNeverWritable))
    return deny("it belongs to the system, and writes there would be real",
                "leave it out: the sandbox has a copy of it that it may change");
  for (const std::string& home : {input.user.home, input.request.home})
    if (!home.empty() && IsAtOrBelow(home, path))
      return deny("it holds your home, where other programs take orders from",
                  "name a directory inside your home, e.g. the project");
  CLOCHE_TRY(CheckCloche(input, field, path));
  for (const HiddenPath& hidden : input.hidden.paths)
    if (Overlap(path, hidden.path))
      return deny(fmt::format("{} is hidden ({})", hidden.path, hidden.why),
                  "name a directory that holds no hidden path");
  return {};
}

// A bind shows everything below it, so it cannot keep a hidden path hidden.
Status CheckReadable(const ViewInput& input, std::string_view field, std::string_view path) {
  const auto refuse = [&](std::string_view reason, std::string cure) {
    return Fail(Code::kInvalid, fmt::format("grant {} {}: {}", field, path, reason),
                std::move(cure));
  };
  CLOCHE_TRY(CheckSideStore(field, path));
  if (path == "/") return refuse("it is everything", "name the directories that are needed");
  if (IsAtOrBelowAny(path, kOwnInside))
    return refuse("the sandbox has its own there", "leave it out");
  CLOCHE_TRY(CheckCloche(input, field, path));
  for (const HiddenPath& hidden : input.hidden.paths) {
    if (IsBelow(path, hidden.path))
      return refuse(
          fmt::format("it lies in {}, which is hidden ({})", hidden.path, hidden.why),
          fmt::format("name all of {} with --ro, or copy what is needed elsewhere", hidden.path));
    if (hidden.path == path)
      return refuse(fmt::format("it is hidden ({})", hidden.why),
                    "copy what is needed elsewhere, and name that");
    if (IsAtOrBelow(hidden.path, path))
      return refuse(fmt::format("{} below it is hidden ({})", hidden.path, hidden.why),
                    "name the directories in it that are needed");
  }
  return {};
}

Status CheckHide(const ViewInput& input, std::string_view path) {
  const SandboxRequest& request = input.request;
  const auto refuse = [&](std::string_view reason, std::string_view cure) {
    return Fail(Code::kInvalid, fmt::format("hide {}: {}", path, reason), std::string(cure));
  };
  if (path == "/" || IsAtOrBelowAny(path, kOwnInside))
    return refuse("the sandbox has its own there", "leave it out: nothing of the host is in it");
  for (const std::string& place : {request.cwd, request.project})
    if (request.base_directory.empty() && !place.empty() && IsAtOrBelow(place, path))
      return refuse(fmt::format("{} lies in it, and commands start there", place),
                    "hide something inside, or start from another directory");
  for (const auto& list : {request.ro, request.rw})
    for (const std::string& granted : list)
      if (Overlap(path, granted))
        return refuse(fmt::format("{} is bound as it is", granted),
                      "bind only the directories that hold nothing to hide");
  return {};
}

// Spawn takes no kernel file system of the host as a source, and none holds programs to run.
Status CheckBase(const ViewInput& input) {
  const std::string& base = input.request.base_directory;
  if (base.empty()) return {};
  if (IsAtOrBelowAny(base, kOfTheKernel))
    return Fail(Code::kInvalid,
                fmt::format("copy {}: it is not a directory of files on a disk", base),
                "name the directory itself: realpath PATH");
  for (const std::string& own : input.facts.cloche_paths)
    if (IsAtOrBelow(base, own))
      return Fail(Code::kDenied, fmt::format("copy {}: Cloche keeps its state in {}", base, own),
                  "name another directory");
  CLOCHE_TRY(CheckSideStore("base", base));
  for (const HiddenPath& hidden : input.hidden.paths)
    if (IsAtOrBelow(base, hidden.path))
      return Fail(Code::kInvalid,
                  fmt::format("copy {}: {} is hidden ({})", base, hidden.path, hidden.why),
                  "copy what is needed to another directory, and name that");
  return {};
}

// Nothing of the host's is there, so a command could not start.
Status CheckStart(const ViewInput& input) {
  const SandboxRequest& request = input.request;
  if (!request.base_directory.empty() || request.declared) return {};
  for (const std::string& place : {request.cwd, request.project}) {
    if (place.empty()) continue;
    for (const std::string& own : input.facts.cloche_paths)
      if (IsAtOrBelow(place, own))
        return Fail(Code::kDenied, fmt::format("start in {}: Cloche keeps its state there", place),
                    "change to another directory");
    for (const std::string_view fresh : {"/dev"sv, "/run"sv, "/sys"sv, "/var/run"sv})
      if (IsBelow(place, fresh) && place != "/dev/shm")
        return Fail(Code::kUnavailable,
                    fmt::format("start in {}: the sandbox has a {} of its own", place, fresh),
                    "change to a directory on a disk");
  }
  return {};
}

}  // namespace

Status CheckGrants(const ViewInput& input) {
  const SandboxRequest& request = input.request;
  CLOCHE_TRY(CheckBase(input));
  for (const std::string& path : request.rw) {
    CLOCHE_TRY(CheckWritable(input, "rw", path));
    if (std::ranges::find(request.ro, path) != request.ro.end())
      return Fail(Code::kInvalid, fmt::format("grant rw {}: it is named with --ro too", path),
                  "name it once");
  }
  for (const std::string& path : request.ro) CLOCHE_TRY(CheckReadable(input, "ro", path));
  for (const std::string& path : request.hide) CLOCHE_TRY(CheckHide(input, path));
  if (request.declared) {
    for (const std::string& path : request.declared->inputs)
      CLOCHE_TRY(CheckReadable(input, "input", path));
    if (!request.declared->output.empty())
      CLOCHE_TRY(CheckWritable(input, "output", request.declared->output));
  }
  return CheckStart(input);
}

const HostMount* MountBelow(const HostFacts& facts, std::string_view path) {
  for (const HostMount& mount : facts.mounts)
    if (IsBelow(mount.target, path)) return &mount;
  return nullptr;
}

MountOp ShowOp(const HostFacts& facts, const std::string& path) {
  return MountBelow(facts, path) ? BindOp(path, true) : OverlayOp(path, true);
}

void AddGrants(const HostFacts& facts, const SandboxRequest& request, View& view) {
  const auto bind = [&](const std::string& path, bool read_only) {
    std::erase_if(view.mounts, [&](const MountOp& op) { return IsAtOrBelow(op.target, path); });
    view.mounts.push_back(read_only ? ShowOp(facts, path) : BindOp(path, false));
  };
  std::vector<std::pair<std::string, bool>> grants;
  for (const std::string& path : request.ro) grants.emplace_back(path, true);
  for (const std::string& path : request.rw) grants.emplace_back(path, false);
  std::ranges::stable_sort(grants, {}, [](const auto& grant) { return PathDepth(grant.first); });
  for (const auto& [path, read_only] : grants) bind(path, read_only);
  for (const std::string& path : request.ro)
    view.differences.push_back({fmt::format("{} is read-only", path), "--ro"});
  for (const std::string& path : request.rw)
    view.differences.push_back(
        {fmt::format("{} is the real one: writes there are not a copy", path), "--rw"});
}

bool IsGranted(const SandboxRequest& request, std::string_view path) {
  const auto covers = [&](const std::string& grant) { return IsAtOrBelow(path, grant); };
  return std::ranges::any_of(request.ro, covers) || std::ranges::any_of(request.rw, covers);
}

// Without a project it is where the caller stands, unless that is half the machine.
std::string GlobRoot(const SandboxRequest& request) {
  if (!request.project.empty()) return request.project == "/" ? "" : request.project;
  const bool wide = PathDepth(request.cwd) < 2 ||
                    (!request.home.empty() && IsAtOrBelow(request.home, request.cwd));
  return request.cwd.empty() || wide ? "" : request.cwd;
}

// Hides side stores in copies, and covers them where the sandbox writes to the real directory.
void HideSideStores(const ViewInput& input, View& view) {
  const SandboxRequest& request = input.request;
  const bool base_is_host = request.base_directory.empty();
  const std::string project = base_is_host ? GlobRoot(request) : "";
  // A read-only directory that is not a mount point cannot hold a side store.
  const auto may_hold = [&](const MountOp& op) {
    return !op.read_only || std::ranges::any_of(input.facts.mounts, [&](const HostMount& mount) {
      return mount.target == op.target && !mount.is_file;
    });
  };
  std::set<std::string> hidden, covered;
  for (const MountOp& op : view.mounts) {
    if (op.kind == MountKind::kOverlay) {
      if (may_hold(op)) hidden.insert(op.target);
      if (!project.empty() && IsAtOrBelow(project, op.target)) hidden.insert(project);
    } else if (op.kind == MountKind::kBind && !op.read_only) {
      covered.insert(op.target);
      for (const HostMount& mount : input.facts.mounts)
        if (!mount.is_file && IsBelow(mount.target, op.target)) covered.insert(mount.target);
      if (!project.empty() && IsAtOrBelow(project, op.target)) covered.insert(project);
    }
  }
  const auto annex_in = [](const std::string& place) {
    return (place == "/" ? "" : place) + "/" + kSideStoreName;
  };
  for (const std::string& place : hidden)
    view.files.push_back({FileRuleKind::kHide, annex_in(place), ""});
  for (const std::string& place : covered)
    view.mounts.insert(view.mounts.end() - kKernelMounts, CoverOp(annex_in(place)));
}

void HideGlobsBelow(const std::string& root, View& view) {
  view.files.push_back({FileRuleKind::kHideGlob, root, std::string(kProjectGlobs)});
  std::string_view rest = kProjectGlobs;
  while (!rest.empty()) {
    const std::string_view pattern = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(pattern.size() + 1);
    if (!pattern.starts_with('!'))
      view.hidden.push_back(
          {fmt::format("{}/**/{}", root == "/" ? "" : root, pattern), "secrets of the project"});
  }
}

void HideProjectGlobs(const SandboxRequest& request, View& view) {
  const std::string root = GlobRoot(request);
  if (root.empty()) return;
  const bool bound = IsGranted(request, root);
  for (const auto& list : {request.ro, request.rw})
    for (const std::string& grant : list)
      if (bound ? IsAtOrBelow(root, grant) : IsBelow(grant, root))
        view.differences.push_back(
            {fmt::format(".env files in {} are visible", bound ? root : grant),
             fmt::format("{} is bound as it is", grant)});
  if (!bound) HideGlobsBelow(root, view);
}

void SortByDepth(std::vector<MountOp>& mounts) {
  std::ranges::stable_sort(mounts, {}, [](const MountOp& op) { return PathDepth(op.target); });
}

void AddKernelMounts(View& view, Sys sys) {
  view.mounts.push_back(
      {.kind = MountKind::kSys, .target = "/sys", .optional = sys == Sys::kIfPresent});
  view.mounts.push_back({.kind = MountKind::kProc, .target = "/proc"});
  view.mounts.push_back({.kind = MountKind::kDev, .target = "/dev"});
}

MountOp OverlayOp(const std::string& path, bool read_only) {
  return {.kind = MountKind::kOverlay, .source = path, .target = path, .read_only = read_only};
}

MountOp BindOp(const std::string& path, bool read_only) {
  return {.kind = MountKind::kBind,
          .source = path,
          .target = path,
          .read_only = read_only,
          .recursive = true};
}

MountOp TmpfsOp(std::string target, uint64_t size, uint32_t mode) {
  return {.kind = MountKind::kTmpfs, .target = std::move(target), .size_bytes = size, .mode = mode};
}

MountOp CoverOp(std::string target) {
  return {.kind = MountKind::kTmpfs,
          .target = std::move(target),
          .read_only = true,
          .optional = true,
          .size_bytes = 4096,
          .mode = 0555};
}

}  // namespace cloche
