#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/launch_plan.h"
#include "base/result.h"
#include "policy/facts.h"
#include "policy/hidden.h"
#include "policy/request.h"

namespace cloche {

// The view of a sandbox, before it becomes part of a LaunchPlan. One builder per kind of base.

struct ViewInput {
  const HostFacts& facts;
  const UserFacts& user;
  const SandboxRequest& request;
  HiddenSet hidden;
};

struct View {
  std::vector<MountOp> mounts;
  std::vector<FileRule> files;
  std::vector<Difference> differences;
  std::vector<Absence> hidden;
  std::string cwd;
};

Result<View> SystemView(const ViewInput& input);
Result<View> RootlessView(const ViewInput& input);
Result<View> DirectoryView(const ViewInput& input);
Result<View> DeclaredOnlyView(const ViewInput& input);

// grants.cc: which of --ro, --rw, --hide and declared paths are refused, before anything is built.
Status CheckGrants(const ViewInput& input);
// Binds --ro and --rw over `mounts`, replacing what they cover.
void AddGrants(const HostFacts& facts, const SandboxRequest& request, View& view);
bool IsGranted(const SandboxRequest& request, std::string_view path);  // at or below --ro or --rw
// Names matching kProjectGlobs below the project, if a whiteout can be made there.
std::string GlobRoot(const SandboxRequest& request);  // "" = nowhere
void HideProjectGlobs(const SandboxRequest& request, View& view);
// .env files and their like below `root`, a path inside.
void HideGlobsBelow(const std::string& root, View& view);
// Where promotions keep what they replaced on other file systems than the home's.
void HideSideStores(const ViewInput& input, View& view);

// Parents before children; equal depths keep their order. The last three are the sandbox's own.
void SortByDepth(std::vector<MountOp>& mounts);
// Where the base is not ours to add to, /sys only if it is there.
enum class Sys : uint8_t { kAlways, kIfPresent };
void AddKernelMounts(View& view, Sys sys = Sys::kAlways);
inline constexpr int kKernelMounts = 3;

MountOp OverlayOp(const std::string& path, bool read_only = false);
MountOp BindOp(const std::string& path, bool read_only);
// Something of the host's to look at. As a layer, because a read-only bind still lets one connect
// to a socket or write to a FIFO in it; as a bind only where a mount below makes a layer
// impossible.
MountOp ShowOp(const HostFacts& facts, const std::string& path);
const HostMount* MountBelow(const HostFacts& facts, std::string_view path);
// Rootless: a directory of / cannot be a layer, so the sockets in it stay alive.
bool BindsTopDirectory(const HostFacts& facts);
MountOp TmpfsOp(std::string target, uint64_t size, uint32_t mode);
MountOp CoverOp(std::string target);  // an empty read-only tmpfs over a host directory

inline constexpr uint64_t kRunBytes = uint64_t{16} << 20;
inline constexpr uint64_t kTmpBytes = uint64_t{1} << 30;

}  // namespace cloche
