#include "api/doctor_kernel.h"

#include <gmock/gmock.h>

namespace cloche::api {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> Names(KernelVersion version) {
  std::vector<std::string> names;
  for (const KernelBug& bug : BugsBelow(version)) names.emplace_back(bug.cve);
  return names;
}

TEST(DoctorKernel, TheVersionIsTheUpstreamOne) {
  EXPECT_EQ(UpstreamVersion("6.18.44-fc-v490", "#1 SMP").Text(), "6.18.44");
  EXPECT_EQ(UpstreamVersion("6.8", "#1 SMP").Text(), "6.8.0");
  EXPECT_EQ(
      UpstreamVersion("6.1.0-18-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)")
          .Text(),
      "6.1.76");
  EXPECT_EQ(UpstreamVersion("6.12.3-custom", "#1 SMP Debian 6.1.76-1").Text(), "6.12.3");
  EXPECT_EQ(UpstreamVersion("garbage", "Debian").Text(), "0.0.0");
}

TEST(DoctorKernel, TheLastVersionWithABugIsNamedAndTheFirstWithoutIsNot) {
  for (const KernelBug& bug : KnownKernelBugs()) {
    EXPECT_THAT(Names(bug.mainline), Not(Contains(bug.cve)));
    for (KernelVersion fix : bug.fixes) {
      EXPECT_THAT(Names(fix), Not(Contains(bug.cve))) << fix.Text();
      --fix.patch;
      EXPECT_THAT(Names(fix), Contains(bug.cve)) << fix.Text();
    }
  }
}

TEST(DoctorKernel, ABranchThatNeverGotTheFixIsNamed) {
  EXPECT_THAT(Names({6, 5, 13}), Contains("CVE-2024-1086"));
  EXPECT_THAT(Names({6, 11, 99}), Contains("CVE-2025-38236"));
  EXPECT_THAT(Names({6, 11, 99}), Not(Contains("CVE-2024-1086")));
}

TEST(DoctorKernel, ANewKernelHasNone) {
  EXPECT_THAT(Names({6, 18, 44}), IsEmpty());
  EXPECT_THAT(Names({8, 0, 0}), IsEmpty());
}

TEST(DoctorKernel, EveryFixIsOlderThanMainlineAndSupported) {
  for (const KernelBug& bug : KnownKernelBugs())
    for (const KernelVersion& fix : bug.fixes) {
      EXPECT_LT(fix, bug.mainline) << bug.cve;
      EXPECT_GT(fix, (KernelVersion{6, 1, 0})) << bug.cve;
    }
}

}  // namespace
}  // namespace cloche::api
