#include "api/doctor_kernel.h"

#include <fmt/format.h>

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

// Older famous ones (CVE-2021-22555, CVE-2022-0185, CVE-2022-0492, CVE-2022-0847) are fixed in
// every kernel we run on. Versions of 2024 and later: the CVE records of kernel.org. Those before,
// and CVE-2024-1086: from memory of the stable change logs, to be read again when there is a
// network.
const std::vector<KernelBug>& KnownKernelBugs() {
  static const std::vector<KernelBug> bugs = {
      {"CVE-2023-0386",
       "overlay: set-user-id copied up from nosuid mounts",
       false,
       {6, 2, 0},
       {{6, 1, 9}}},
      {"CVE-2023-32233",
       "nf_tables: use after free",
       false,
       {6, 4, 0},
       {{6, 1, 28}, {6, 2, 15}, {6, 3, 2}}},
      {"CVE-2023-3269",
       "StackRot: stack growth without a lock",
       true,
       {6, 5, 0},
       {{6, 1, 37}, {6, 3, 11}, {6, 4, 1}}},
      {"CVE-2024-1086",
       "nf_tables: double free",
       false,
       {6, 8, 0},
       {{6, 1, 76}, {6, 6, 15}, {6, 7, 3}}},
      {"CVE-2024-26923",
       "unix sockets: garbage collector race",
       true,
       {6, 9, 0},
       {{6, 1, 87}, {6, 6, 28}, {6, 8, 7}}},
      {"CVE-2025-38236",
       "unix sockets: use after free with MSG_OOB",
       true,
       {6, 16, 0},
       {{6, 1, 143}, {6, 6, 96}, {6, 12, 36}, {6, 15, 5}}},
      {"CVE-2026-31431",
       "Copy Fail: page-cache writes by AF_ALG",
       false,
       {7, 0, 0},
       {{6, 1, 170}, {6, 6, 137}, {6, 12, 85}, {6, 18, 22}, {6, 19, 12}}},
      {"CVE-2026-43284",
       "Dirty Frag: page-cache writes by ESP",
       false,
       {7, 1, 0},
       {{6, 1, 172}, {6, 6, 138}, {6, 12, 87}, {6, 18, 28}, {7, 0, 5}}},
  };
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
