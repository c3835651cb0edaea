#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::api {

struct KernelVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const KernelVersion&) const = default;
  std::string Text() const;
};

// The upstream version a kernel was made from. `release` is `uname -r`; Debian keeps its third
// number at 0 and tells the true one in `version` (`uname -v`: "... Debian 6.1.76-1 (...)").
KernelVersion UpstreamVersion(std::string_view release, std::string_view version);

struct KernelBug {
  std::string_view cve;
  std::string_view what;
  bool reachable;                    // from inside a sandbox; if not, the filter is in the way
  KernelVersion mainline;            // first version without it
  std::vector<KernelVersion> fixes;  // first of each older branch without it
};

// When somebody last looked for new entries of src/api/kernel_fixes.inc.
inline constexpr std::string_view kKernelFixesAsOf = "2026-11-15";

// Known ways from a process to the kernel that were fixed after 6.1, the oldest kernel we support.
const std::vector<KernelBug>& KnownKernelBugs();

// Those whose upstream fix this version does not have. A distribution may have added the fix
// without changing the version.
std::vector<KernelBug> BugsBelow(KernelVersion version);

}  // namespace cloche::api
