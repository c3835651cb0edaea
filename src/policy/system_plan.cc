#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "policy/paths.h"
#include "policy/view.h"

namespace cloche {
namespace {

using namespace std::string_view_literals;

constexpr std::array kOwnInside = {"/dev"sv, "/proc"sv, "/sys"sv};

bool IsPseudo(std::string_view fs_type) {
  constexpr std::array kPseudo = {
      "autofs"sv,     "binder"sv,     "binfmt_misc"sv, "bpf"sv,      "cgroup"sv,   "cgroup2"sv,
      "configfs"sv,   "debugfs"sv,    "devpts"sv,      "devtmpfs"sv, "efivarfs"sv, "fusectl"sv,
      "hugetlbfs"sv,  "mqueue"sv,     "nsfs"sv,        "proc"sv,     "pstore"sv,   "ramfs"sv,
      "rpc_pipefs"sv, "securityfs"sv, "selinuxfs"sv,   "sysfs"sv,    "tracefs"sv};
  return std::ranges::find(kPseudo, fs_type) != kPseudo.end();
}

// Can it be an idmapped lower? ext2 and ext3 cannot, although ext4's driver serves them: only the
// file system type named ext4 carries the kernel's flag.
bool CanBeLower(const HostFacts& facts, std::string_view fs_type) {
  if (fs_type == "tmpfs") return facts.KernelAtLeast(6, 3);
  return fs_type == "ext4" || fs_type == "xfs" || fs_type == "btrfs" || fs_type == "f2fs";
}

std::vector<HostMount> VisibleMounts(const HostFacts& facts) {
  std::map<std::pair<int, std::string>, HostMount> by_depth;
  for (const HostMount& mount : facts.mounts)  // of several at one place the last is seen
    by_depth.insert_or_assign({PathDepth(mount.target), mount.target}, mount);
  std::vector<HostMount> result;
  for (auto& [key, mount] : by_depth) result.push_back(std::move(mount));
  return result;
}

class SystemBuilder {
 public:
  explicit SystemBuilder(const ViewInput& input) : input_(input), request_(input.request) {}

  Result<View> Build() {
    view_.mounts.push_back(OverlayOp("/"));
    for (const HostMount& mount : VisibleMounts(input_.facts)) {
      if (mount.target == "/")
        CLOCHE_TRY(CheckRoot(mount));
      else
        AddMount(mount);
    }
    // Always fresh: the host's holds the sockets of its services, and packages that find
    // /run/systemd there believe they could start units.
    view_.mounts.push_back(TmpfsOp("/run", kRunBytes, 0755));
    absent_.push_back("/run");
    view_.differences.push_back(
        {"/run is empty", "it holds the sockets and locks of the host's services"});
    CLOCHE_TRY(CheckPlaces());
    AddGrants(input_.facts, request_, view_);
    AddFiles();
    SortByDepth(view_.mounts);
    AddKernelMounts(view_);
    return std::move(view_);
  }

 private:
  Status CheckRoot(const HostMount& root) {
    if (CanBeLower(input_.facts, root.fs_type)) return {};
    return Fail(Code::kUnavailable,
                fmt::format("copy /: its file system is {}, which this kernel cannot map to other "
                            "user ids",
                            root.fs_type),
                input_.facts.in_container
                    ? "run Cloche outside of the container, or as an ordinary user (rootless mode)"
                    : "run the daemon as an ordinary user (rootless mode)");
  }

  void AddMount(const HostMount& mount) {
    const std::string& target = mount.target;
    if (IsAtOrBelowAny(target, kOwnInside) || IsPseudo(mount.fs_type)) return;
    if (CleanPath(target, "mount") != target) return;  // "/mnt//deleted": nobody sees it there
    if (IsAtOrBelow(target, "/run")) {
      if (mount.fs_type != "tmpfs") Skip(mount, "everything below /run is fresh inside");
      return;
    }
    if (input_.hidden.Hides(target)) return;
    if (std::ranges::any_of(request_.hide,
                            [&](auto& hidden) { return IsAtOrBelow(target, hidden); }))
      return;
    if (IsAbsent(target)) return Skip(mount, "the file system it is mounted on is not copied");
    if (!CanBeLower(input_.facts, mount.fs_type)) {
      if (mount.is_file) {
        view_.differences.push_back(
            {fmt::format("{} shows the file below the mount", target), Reason(mount)});
      } else if (target == "/tmp") {
        view_.mounts.push_back(TmpfsOp("/tmp", kTmpBytes, 01777));
        absent_.push_back(target);
        view_.differences.push_back({"/tmp is empty", Reason(mount)});
      } else {
        Skip(mount, Reason(mount));
      }
      return;
    }
    if (mount.is_file) {
      view_.mounts.push_back(BindOp(target, true));
      view_.differences.push_back(
          {fmt::format("{} is read-only", target), "a single file is mounted there on the host"});
      return;
    }
    // The project is copied to be worked on, wherever it lies.
    MountOp op = OverlayOp(target, mount.read_only && !IsAtOrBelow(request_.project, target));
    op.optional = true;  // unmounted meanwhile: nothing to show
    view_.mounts.push_back(std::move(op));
  }

  std::string Reason(const HostMount& mount) const {
    return fmt::format("{} cannot be a layer of a copy on Linux {}.{}", mount.fs_type,
                       input_.facts.kernel_major, input_.facts.kernel_minor);
  }

  void Skip(const HostMount& mount, std::string why) {
    absent_.push_back(mount.target);
    view_.differences.push_back({fmt::format("{} is empty", mount.target), std::move(why)});
  }

  bool IsAbsent(std::string_view path) const {
    return std::ranges::any_of(absent_, [&](auto& each) { return IsAtOrBelow(path, each); });
  }

  Status CheckPlaces() {
    std::vector<std::pair<std::string_view, std::string>> places = {
        {"start in", request_.cwd}, {"copy the project", request_.project}};
    for (const std::string& path : request_.ro) places.emplace_back("grant ro", path);
    for (const std::string& path : request_.rw) places.emplace_back("grant rw", path);
    for (const auto& [what, path] : places) {
      if (path.empty() || path == "/tmp" || path == "/run" || !IsAbsent(path)) continue;
      return Fail(Code::kUnavailable,
                  fmt::format("{} {}: it lies on a file system that cannot be copied", what, path),
                  "`cloche explain --differences` from another directory lists those that cannot; "
                  "work on a disk of type ext4, xfs, btrfs or f2fs");
    }
    return {};
  }

  void AddFiles() {
    for (const HiddenPath& hidden : input_.hidden.paths) Hide(hidden.path, hidden.why);
    for (const std::string& path : request_.hide) Hide(path, "--hide");
    HideProjectGlobs(request_, view_);
    for (const char* path : {"/etc/gshadow", "/etc/shadow"})
      view_.files.push_back({FileRuleKind::kBlankHashes, path, ""});
    view_.differences.push_back({"/etc/shadow and /etc/gshadow hold no password hashes",
                                 "they are secrets of the machine; useradd works without them"});
  }

  void Hide(const std::string& path, std::string_view why) {
    view_.hidden.push_back({path, std::string(why)});
    if (!IsAbsent(path)) view_.files.push_back({FileRuleKind::kHide, path, ""});
  }

  const ViewInput& input_;
  const SandboxRequest& request_;
  View view_;
  std::vector<std::string> absent_;  // places whose content on the host does not exist inside
};

}  // namespace

Result<View> SystemView(const ViewInput& input) { return SystemBuilder(input).Build(); }

}  // namespace cloche
