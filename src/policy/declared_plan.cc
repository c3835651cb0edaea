#include <fmt/core.h>

#include <algorithm>

#include "policy/paths.h"
#include "policy/view.h"

namespace cloche {
namespace {

constexpr uint64_t kRootBytes = uint64_t{1} << 20;  // mount points, nothing else
constexpr uint64_t kDefaultTmp = uint64_t{64} << 20;

// On merged-/usr systems /bin and its like are symlinks, which the bind follows.
constexpr const char* kRuntimes[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                     "/lib32", "/lib64", "/libx32"};

// Files that tell programs who they are, where libraries lie, whom to trust and what time it is.
constexpr const char* kSettings[] = {
    "/etc/alternatives",  "/etc/ca-certificates", "/etc/ca-certificates.conf",
    "/etc/group",         "/etc/ld.so.cache",     "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",  "/etc/localtime",       "/etc/mime.types",
    "/etc/nsswitch.conf", "/etc/os-release",      "/etc/passwd",
    "/etc/pki/tls/certs", "/etc/protocols",       "/etc/services",
    "/etc/ssl/certs",     "/etc/timezone"};

}  // namespace

Result<View> DeclaredOnlyView(const ViewInput& input) {
  const DeclaredView& declared = *input.request.declared;
  View view;
  view.mounts.push_back(TmpfsOp("/", kRootBytes, 0755));
  const auto show = [&](const char* path) {
    MountOp op = ShowOp(input.facts, path);
    op.optional = true;
    view.mounts.push_back(std::move(op));
  };
  std::ranges::for_each(kRuntimes, show);
  std::ranges::for_each(kSettings, show);
  view.mounts.push_back(TmpfsOp("/run", kRootBytes, 0755));
  view.mounts.push_back(TmpfsOp("/tmp", declared.tmp.value_or(kDefaultTmp), 01777));
  const auto replace = [&](const std::string& path, bool read_only) {
    std::erase_if(view.mounts, [&](const MountOp& op) { return op.target == path; });
    view.mounts.push_back(read_only ? ShowOp(input.facts, path) : BindOp(path, false));
  };
  for (const std::string& path : declared.inputs) replace(path, true);
  if (!declared.output.empty()) replace(declared.output, false);
  // No input shows it, by whatever name: where a link leads is seen when it is opened.
  for (const HiddenPath& hidden : input.hidden.paths)
    view.files.push_back({FileRuleKind::kHide, hidden.path, ""});
  SortByDepth(view.mounts);
  AddKernelMounts(view);

  view.differences.push_back(
      {"only the declared paths and the system's programs exist", "declared"});
  if (!declared.output.empty())
    view.differences.push_back(
        {fmt::format("{} is the real one: writes there are not a copy", declared.output),
         "declared"});

  const std::string& cwd = input.request.cwd;
  const auto holds_cwd = [&](const std::string& path) {
    return !path.empty() && !cwd.empty() && IsAtOrBelow(cwd, path);
  };
  if (holds_cwd(declared.output) || std::ranges::any_of(declared.inputs, holds_cwd))
    view.cwd = cwd;
  else
    view.cwd = declared.output.empty() ? "/tmp" : declared.output;
  return view;
}

Result<View> DirectoryView(const ViewInput& input) {
  View view;
  view.mounts.push_back(
      {.kind = MountKind::kOverlay, .source = input.request.base_directory, .target = "/"});
  AddGrants(input.facts, input.request, view);
  // Paths that a copy of the host hides, by their names in the base.
  const std::string& base = input.request.base_directory;
  for (const HiddenPath& hidden : input.hidden.paths) {
    if (!IsBelow(hidden.path, base)) continue;
    const std::string inside = hidden.path.substr(base.size());
    view.hidden.push_back({inside, std::string(hidden.why)});
    view.files.push_back({FileRuleKind::kHide, inside, ""});
  }
  for (const std::string path : {"/etc/gshadow", "/etc/shadow"})
    if (IsBelow(path, base))
      view.files.push_back({FileRuleKind::kHide, path.substr(base.size()), ""});
  HideGlobsBelow("/", view);
  for (const std::string& path : input.request.hide) {
    view.hidden.push_back({path, "--hide"});
    view.files.push_back({FileRuleKind::kHide, path, ""});
  }
  SortByDepth(view.mounts);
  AddKernelMounts(view, Sys::kIfPresent);
  view.differences.push_back(
      {fmt::format("/ is a copy of {}", input.request.base_directory), "base"});
  view.cwd = "/";
  return view;
}

}  // namespace cloche
