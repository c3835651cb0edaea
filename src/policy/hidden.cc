#include "policy/hidden.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "policy/hidden_list.h"
#include "policy/paths.h"

namespace cloche {
namespace {

using namespace std::string_view_literals;

// Homes of service accounts may be /usr/sbin or /: hiding those would take the system away.
bool IsPlausibleHome(std::string_view path) {
  constexpr std::array kSystem = {"/bin"sv,   "/boot"sv,  "/dev"sv, "/etc"sv,  "/lib"sv,
                                  "/lib32"sv, "/lib64"sv, "/opt"sv, "/proc"sv, "/run"sv,
                                  "/sbin"sv,  "/sys"sv,   "/usr"sv, "/tmp"sv};
  if (path == "/root") return true;
  return PathDepth(path) >= 2 && !IsAtOrBelowAny(path, kSystem);
}

// "/mnt//deleted" in the kernel's list: nobody sees it there.
bool IsReachable(std::string_view path) { return path.find("//") == path.npos; }

// Other places of the host where `path`, or something in it, shows: its file system is mounted
// there as well, wholly or in part.
std::vector<std::string> OtherPlaces(const HostFacts& facts, std::string_view path) {
  const HostMount* on = nullptr;
  for (const HostMount& mount : facts.mounts)
    if (IsAtOrBelow(path, mount.target) && (!on || mount.target.size() >= on->target.size()))
      on = &mount;
  std::vector<std::string> places;
  if (!on || on->device.empty()) return places;
  const auto below = [](std::string_view whole, std::string_view directory) {
    return whole.substr(directory == "/" ? 0 : directory.size());  // "" or "/..."
  };
  const auto join = [](std::string_view directory, std::string_view rest) {
    const std::string joined = fmt::format("{}{}", directory == "/" ? "" : directory, rest);
    return joined.empty() ? std::string("/") : joined;
  };
  const std::string inner = path == on->target ? on->root : join(on->root, below(path, on->target));
  for (const HostMount& other : facts.mounts) {
    if (&other == on || other.device != on->device) continue;
    if (inner == other.root || IsBelow(other.root, inner))
      places.push_back(other.target);
    else if (IsBelow(inner, other.root))
      places.push_back(join(other.target, below(inner, other.root)));
  }
  std::erase_if(places, [](const std::string& place) { return !IsReachable(place); });
  return places;
}

bool IsNamed(const SandboxRequest& request, std::string_view path) {
  const auto holds = [&](const std::string& named) { return IsAtOrBelow(path, named); };
  const auto& declared = request.declared;
  return std::ranges::any_of(request.ro, holds) || std::ranges::any_of(request.rw, holds) ||
         (declared && (std::ranges::any_of(declared->inputs, holds) ||
                       (!declared->output.empty() && holds(declared->output))));
}

bool IsOnDisk(const HostMount& mount) {
  constexpr std::array kDisks = {"btrfs"sv, "ext4"sv, "f2fs"sv, "xfs"sv, "zfs"sv};
  return std::ranges::find(kDisks, mount.fs_type) != kDisks.end() && !mount.is_file;
}

}  // namespace

bool HiddenSet::Hides(std::string_view path) const {
  return std::ranges::any_of(
      paths, [&](const HiddenPath& hidden) { return IsAtOrBelow(path, hidden.path); });
}

HiddenSet DefaultHidden(const HostFacts& facts, const UserFacts& user,
                        const SandboxRequest& request) {
  HiddenSet result;
  std::vector<std::string> homes;
  for (const std::string& home : {user.home, request.home})
    if (!home.empty() && home != "/" && std::ranges::find(homes, home) == homes.end())
      homes.push_back(home);
  std::vector<std::string> at_work;  // copies: `homes` grows below
  if (request.base_directory.empty()) at_work = {request.cwd, request.project};
  at_work.insert(at_work.end(), homes.begin(), homes.end());

  const auto add_here = [&](std::string path, std::string_view why, bool root_only,
                            bool granted_inside) {
    const bool works_there = std::ranges::any_of(
        at_work, [&](auto& place) { return !place.empty() && IsAtOrBelow(place, path); });
    const bool named = granted_inside || std::ranges::find(request.ro, path) != request.ro.end();
    if (works_there || named) {
      result.differences.push_back(
          {fmt::format("{} is visible", path),
           fmt::format("by default it is hidden ({}), but {}", why,
                       named ? "--ro or --rw names it" : "you work inside it")});
      return false;
    }
    result.paths.push_back({std::move(path), why, root_only});
    return true;
  };
  const auto add = [&](const std::string& path, std::string_view why, bool root_only,
                       bool granted_inside = false) {
    const bool hidden = add_here(path, why, root_only, granted_inside);
    if (hidden)
      for (const std::string& place : OtherPlaces(facts, path))
        add_here(place, why, root_only, false);
    return hidden;
  };

  for (const std::string& home : facts.other_homes) {
    if (!IsPlausibleHome(home) || std::ranges::find(homes, home) != homes.end()) continue;
    const auto inside = [&](const std::string& path) { return IsBelow(path, home); };
    const bool granted = std::ranges::any_of(request.ro, inside) ||
                         std::ranges::any_of(request.rw, inside) ||
                         IsAtOrBelow(request.base_directory, home);
    // A home that must stay visible still gives away no credentials.
    if (!add(home, "another user's home", false, granted)) homes.push_back(home);
  }
  for (const std::string& home : homes)
    for (const HomeSecret& secret : HomeSecrets())
      add(JoinPath(home, secret.path), secret.why, false);
  for (const SystemSecret& secret : SystemSecrets())
    add(std::string(secret.path), secret.why, secret.root_only);
  for (const HostMount& mount : facts.mounts) {
    // Most file systems have none of these, so a grant of a whole file system is not refused for
    // them.
    if (!IsOnDisk(mount) || !IsReachable(mount.target) || IsNamed(request, mount.target)) continue;
    for (const HomeSecret& tree : SnapshotTrees())
      add(JoinPath(mount.target, tree.path), tree.why, false);
  }
  for (const std::string& path : facts.cloche_paths) {
    constexpr auto kOwn = "Cloche's own state and other sandboxes"sv;
    result.paths.push_back({path, kOwn, false});
    for (const std::string& place : OtherPlaces(facts, path))
      result.paths.push_back({place, kOwn, false});
  }

  // With '/' before every other character a directory comes right before all that lies below it,
  // which needs no rule of its own.
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
  std::ranges::sort(result.paths, [&](const HiddenPath& a, const HiddenPath& b) {
    return std::ranges::lexicographical_compare(a.path, b.path, {}, rank, rank);
  });
  std::vector<HiddenPath> outermost;
  outermost.reserve(result.paths.size());
  for (HiddenPath& hidden : result.paths)
    if (outermost.empty() || !IsAtOrBelow(hidden.path, outermost.back().path))
      outermost.push_back(std::move(hidden));
  result.paths = std::move(outermost);
  return result;
}

}  // namespace cloche
