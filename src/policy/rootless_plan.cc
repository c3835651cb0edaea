#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "policy/paths.h"
#include "policy/view.h"

namespace cloche {
namespace {

using namespace std::string_view_literals;

constexpr std::array kReplaced = {"/dev"sv, "/proc"sv, "/run"sv, "/sys"sv};
constexpr std::array kTemporary = {"/tmp"sv, "/var/tmp"sv};

enum class Need {
  kRequired,    // refuse when it cannot be copied
  kIfPresent,   // as kRequired, but may not exist
  kIfPossible,  // else it stays read-only
  kScratch,     // else a fresh tmpfs
};

struct Candidate {
  std::string path;
  std::string_view what;
  Need need;
};

// From the host; the others are the sandbox's own.
bool IsShown(std::string_view path) { return !IsAtOrBelowAny(path, kReplaced) && path != "/tmp"; }

class RootlessBuilder {
 public:
  explicit RootlessBuilder(const ViewInput& input) : input_(input), request_(input.request) {}

  Result<View> Build() {
    view_.mounts.push_back(BindOp("/", true));
    view_.differences.push_back(
        {"everything but home, project and temporary directories is read-only",
         "rootless: an ordinary user can copy only their own files"});
    // The kernel says EOVERFLOW: an upper cannot hold an owner that has no id inside.
    view_.differences.push_back(
        {"files and directories of any group but your primary one cannot be changed",
         "rootless there is one group inside; chgrp them, or use root's daemon"});
    ShowTopDirectories();
    std::vector<Candidate> candidates = Candidates();
    std::ranges::stable_sort(candidates, {}, [](const Candidate& c) { return PathDepth(c.path); });
    for (const Candidate& candidate : candidates) CLOCHE_TRY(Place(candidate));
    view_.mounts.push_back(TmpfsOp("/run", kRunBytes, 0755));
    view_.differences.push_back(
        {"/run is empty", "it holds the sockets and locks of the host's services"});
    AddGrants(input_.facts, request_, view_);
    AddHidden();
    HideGlobs();
    CLOCHE_TRY(CoverSockets());
    SortByDepth(view_.mounts);
    AddKernelMounts(view_);
    return std::move(view_);
  }

 private:
  // Over the bind of everything: sockets and FIFOs of the host are dead in a layer.
  void ShowTopDirectories() {
    for (const std::string& path : input_.facts.root_directories) {
      if (!IsShown(path)) continue;
      if (const HostMount* inner = MountBelow(input_.facts, path)) {
        view_.differences.push_back(
            {fmt::format("sockets that services make in {} later lead to them", path),
             fmt::format("{} is mounted below it, so it can only be bound", inner->target)});
        continue;
      }
      MountOp op = OverlayOp(path, true);
      op.optional = true;  // a directory the user may not enter stays as it is
      view_.mounts.push_back(std::move(op));
      shown_.push_back(path);
    }
  }

  std::vector<Candidate> Candidates() const {
    const std::string& home = request_.home.empty() ? input_.user.home : request_.home;
    std::vector<Candidate> result;
    if (!home.empty()) result.push_back({home, "home", Need::kRequired});
    // The real home holds the credentials even when HOME points elsewhere.
    if (!input_.user.home.empty() && input_.user.home != home && input_.user.home != "/")
      result.push_back({input_.user.home, "home", Need::kIfPresent});
    if (!request_.project.empty() && request_.project != "/")
      result.push_back({request_.project, "project", Need::kRequired});
    else if (!request_.cwd.empty() && request_.cwd != "/" &&
             !IsAtOrBelowAny(request_.cwd, kReplaced))
      result.push_back({request_.cwd, "working directory", Need::kIfPossible});
    for (const std::string_view path : kTemporary)
      result.push_back({std::string(path), "temporary files", Need::kScratch});
    return result;
  }

  Status Place(const Candidate& candidate) {
    const std::string& path = candidate.path;
    const bool required = candidate.need == Need::kRequired || candidate.need == Need::kIfPresent;
    if (path == "/")
      return Fail(Code::kUnavailable, "copy the home /: rootless, / itself cannot be copied",
                  "set HOME to your own directory, or run the daemon as root");
    if (IsAtOrBelowAny(path, kReplaced))
      return Fail(Code::kUnavailable,
                  fmt::format("copy the {} {}: the sandbox has its own /{} there", candidate.what,
                              path, std::string_view(path).substr(1, path.find('/', 1) - 1)),
                  "work in a directory on a disk");
    if (IsCovered(candidate)) return {};
    const HostMount* inner = MountBelow(input_.facts, path);
    if (!inner) {
      MountOp op = OverlayOp(path);
      op.optional = candidate.need == Need::kIfPresent;
      view_.mounts.push_back(std::move(op));
      copied_.push_back(path);
      return {};
    }
    if (required)
      return Fail(Code::kUnavailable,
                  fmt::format("copy the {} {}: {} ({}) is mounted below it, and an ordinary user "
                              "cannot copy across mounts",
                              candidate.what, path, inner->target, inner->fs_type),
                  fmt::format("unmount {}, or run the daemon as root", inner->target));
    if (candidate.need == Need::kScratch) {
      view_.mounts.push_back(TmpfsOp(path, kTmpBytes, 01777));
      scratch_.push_back(path);
      view_.differences.push_back(
          {fmt::format("{} is empty", path), fmt::format("{} is mounted below it", inner->target)});
    } else {
      view_.differences.push_back({fmt::format("{} is read-only", path),
                                   fmt::format("{} is mounted below it", inner->target)});
    }
    return {};
  }

  // A whiteout can be made there.
  bool IsLayer(std::string_view path) const {
    return IsCopied(path) ||
           std::ranges::any_of(shown_, [&](auto& each) { return IsBelow(path, each); });
  }

  bool IsCopied(std::string_view path) const {
    return std::ranges::any_of(copied_, [&](auto& each) { return IsAtOrBelow(path, each); });
  }

  // The copy of a parent directory includes it. Directories in /tmp that people work in get copies
  // of their own though: when somebody mounts something in /tmp, only the rest becomes empty.
  bool IsCovered(const Candidate& candidate) const {
    return std::ranges::any_of(copied_, [&](const std::string& each) {
      const bool temporary = std::ranges::find(kTemporary, each) != kTemporary.end();
      return IsAtOrBelow(candidate.path, each) &&
             (!temporary || candidate.need == Need::kScratch || candidate.path == each);
    });
  }

  void AddHidden() {
    for (const HiddenPath& hidden : input_.hidden.paths) {
      const bool in_scratch =
          std::ranges::any_of(scratch_, [&](auto& each) { return IsAtOrBelow(hidden.path, each); });
      const Absence absence{hidden.path, std::string(hidden.why)};
      if (IsLayer(hidden.path)) {
        view_.hidden.push_back(absence);
        view_.files.push_back({FileRuleKind::kHide, hidden.path, ""});
      } else if (in_scratch || IsAtOrBelow(hidden.path, "/run")) {
        view_.hidden.push_back(absence);
      } else if (IsInVisibleHome(hidden.path)) {
        continue;
      } else if (!hidden.root_only) {
        view_.hidden.push_back(absence);
        view_.mounts.push_back(CoverOp(hidden.path));
      }
    }
    for (const std::string& path : request_.hide) {
      view_.hidden.push_back({path, "--hide"});
      // A copy that lies in it would show what was to be hidden.
      const auto inside = [&](std::string_view each) { return IsAtOrBelow(each, path); };
      std::erase_if(copied_, inside);
      std::erase_if(view_.mounts, [&](const MountOp& op) { return inside(op.target); });
      if (IsLayer(path)) {
        view_.files.push_back({FileRuleKind::kHide, path, ""});
      } else {
        // Asked for by name, so a path that cannot be covered must fail and not stay visible.
        MountOp cover = CoverOp(path);
        cover.optional = true;  // absent: nothing to hide; a file: spawn covers it with null
        view_.mounts.push_back(std::move(cover));
      }
    }
  }

  // A read-only bind does not close a socket. In a layer it is dead; where a layer is not possible,
  // and in / itself, each is covered by name.
  Status CoverSockets() {
    if (!input_.facts.sockets_known)
      return Fail(
          Code::kUnavailable,
          "hide the sockets of the host's services: /proc/net/unix cannot be read, or lists "
          "too many",
          "use root's daemon, or unmount what is mounted inside of /usr, /etc, /var and "
          "the like (findmnt)");
    for (const std::string& path : input_.facts.sockets) {
      const auto holds = [&](auto& each) { return IsAtOrBelow(path, each); };
      const bool gone = IsAtOrBelowAny(path, kReplaced) || IsLayer(path) ||
                        std::ranges::any_of(scratch_, holds) || IsGranted(request_, path) ||
                        std::ranges::any_of(request_.hide, holds) || input_.hidden.Hides(path);
      if (gone || CleanPath(path, "socket") != path) continue;
      view_.hidden.push_back({path, "socket of a service of the host"});
      view_.mounts.push_back(CoverOp(path));
    }
    return {};
  }

  // Credentials of another user in whose home the project lies: many of them are files, which a
  // tmpfs cannot cover. Their modes protect them; said once for each home.
  bool IsInVisibleHome(const std::string& path) {
    for (const std::string& home : input_.facts.other_homes) {
      if (!IsBelow(path, home)) continue;
      Difference difference{fmt::format("credentials in {} are not hidden", home),
                            "rootless, nothing outside of the copied directories can be removed"};
      if (std::ranges::find(view_.differences, difference) == view_.differences.end())
        view_.differences.push_back(std::move(difference));
      return true;
    }
    return false;
  }

  void HideGlobs() {
    if (IsLayer(GlobRoot(request_))) HideProjectGlobs(request_, view_);
  }

  const ViewInput& input_;
  const SandboxRequest& request_;
  View view_;
  std::vector<std::string> copied_;
  std::vector<std::string> shown_;  // read-only layers
  std::vector<std::string> scratch_;
};

}  // namespace

bool BindsTopDirectory(const HostFacts& facts) {
  return std::ranges::any_of(facts.root_directories, [&](const std::string& path) {
    return IsShown(path) && MountBelow(facts, path) != nullptr;
  });
}

Result<View> RootlessView(const ViewInput& input) { return RootlessBuilder(input).Build(); }

}  // namespace cloche
