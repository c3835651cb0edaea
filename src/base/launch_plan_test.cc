#include "base/launch_plan.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

LaunchPlan Sample() {
  LaunchPlan plan;
  plan.sandbox_id = "sb_0123456789";
  plan.keep = true;
  plan.spec.mode = Mode::kRootless;
  plan.spec.caller = {1000, 1000, {4, 24, 1000}};
  plan.spec.hostname = "machine";
  plan.spec.mounts = {{MountKind::kOverlay, "/", "/", false, false, false, true, 0, 0755},
                      {MountKind::kTmpfs, "", "/run", true, false, true, false, 1 << 20, 01777}};
  plan.spec.files = {{FileRuleKind::kHide, "/root/.ssh", ""},
                     {FileRuleKind::kHideGlob, "/srv/x", ".env\n!.env.example\n"}};
  plan.limits = {1500, 1 << 29, 1 << 30, 1000, 64};
  return plan;
}

TEST(LaunchPlan, SurvivesEncodingUnchanged) {
  auto back = DecodePlan(EncodePlan(Sample()));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(*back, Sample());
}

TEST(LaunchPlan, EveryTruncationIsRefused) {
  std::string bytes = EncodePlan(Sample());
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(DecodePlan(std::string_view(bytes).substr(0, n)).has_value()) << n;
}

TEST(LaunchPlan, TrailingBytesAreRefused) {
  EXPECT_FALSE(DecodePlan(EncodePlan(Sample()) + "x").has_value());
}

TEST(LaunchPlan, NulInPathIsRefused) {
  LaunchPlan plan = Sample();
  plan.spec.mounts[1].target = std::string("/ru\0n", 5);
  EXPECT_FALSE(DecodePlan(EncodePlan(plan)).has_value());
}

TEST(LaunchPlan, NoSingleByteChangeCrashesTheDecoder) {
  const std::string bytes = EncodePlan(Sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int value : {0x00, 0x01, 0x7f, 0xff}) {
      std::string hostile = bytes;
      hostile[i] = static_cast<char>(value);
      auto result = DecodePlan(hostile);
      EXPECT_TRUE(!result || result->spec.mounts.size() <= 4096);
    }
  }
}

TEST(LaunchPlan, PoolKeyIgnoresIdentityAndLimits) {
  LaunchPlan a = Sample(), b = Sample();
  b.sandbox_id = "sb_other";
  b.limits.memory_bytes = 1;
  EXPECT_EQ(EncodeSpec(a.spec), EncodeSpec(b.spec));
  b.spec.caller.uid = 1001;
  EXPECT_NE(EncodeSpec(a.spec), EncodeSpec(b.spec));
}

}  // namespace
}  // namespace cloche
