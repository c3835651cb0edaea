#include "api/doctor_kernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

namespace cloche::api {
namespace {

KernelVersion Parse(std::string_view text) {
  KernelVersion version;
  std::sscanf(std::string(text).c_str(), "%d.%d.%d", &version.major, &version.minor,
              &version.patch);
  return version;
}

}  // namespace

std::string KernelVersion::Text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

KernelVersion UpstreamVersion(std::string_view release, std::string_view version) {
  constexpr std::string_view kDebian = " Debian ";
  const KernelVersion named = Parse(release);
  if (size_t at = version.find(kDebian); at != version.npos)
    if (KernelVersion real = Parse(version.substr(at + kDebian.size())); real > named) return real;
  return named;
}

const std::vector<KernelBug>& KnownKernelBugs() {
#define V(major, minor, patch) \
  KernelVersion { major, minor, patch }
#define KERNEL_FIX(cve, what, reachable, mainline, ...) \
  {cve, what, reachable, mainline, {__VA_ARGS__}},
  static const std::vector<KernelBug> bugs = {
#include "api/kernel_fixes.inc"
  };
#undef KERNEL_FIX
#undef V
  return bugs;
}

std::vector<KernelBug> BugsBelow(KernelVersion version) {
  std::vector<KernelBug> below;
  for (const KernelBug& bug : KnownKernelBugs()) {
    bool fixed = version >= bug.mainline;
    for (const KernelVersion& fix : bug.fixes)
      fixed |= fix.major == version.major && fix.minor == version.minor && version >= fix;
    if (!fixed) below.push_back(bug);
  }
  return below;
}

}  // namespace cloche::api
