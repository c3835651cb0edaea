#include "cli/defaults.h"

#include <gtest/gtest.h>

namespace cloche::cli {
namespace {

Surroundings Around(const char* settings, const char* wishes) {
  Surroundings around;
  around.cwd = around.project = "/home/u/app";
  around.home = "/home/u";
  around.settings = Body::parse(settings);
  around.wishes = Body::parse(wishes);
  return around;
}

const GrantQuestion kNobody = [](const auto&, const auto&) { return false; };
const GrantQuestion kEverything = [](const auto&, const auto&) { return true; };
using List = std::vector<std::string>;

TEST(AddDefaults, SettingsAreGivenWhereTheProjectSaysNothing) {
  SandboxFlags flags;
  flags.allow = {"typed:1"};
  const auto around =
      Around(R"({"allow":["a:1","b:2"],"secrets":["s"],"hide":["~/x","/y"]})", R"({"hide":[]})");
  EXPECT_EQ(*AddDefaults(flags, around, kNobody), List{});
  EXPECT_EQ(flags.allow, (List{"typed:1", "a:1", "b:2"}));
  EXPECT_EQ(flags.secrets, List{"s"});
  EXPECT_EQ(flags.hide, (List{"/home/u/x", "/y"}));
}

TEST(AddDefaults, AProjectTakesAwayAndNeverGives) {
  SandboxFlags flags;
  const auto around = Around(R"({"allow":["a:1","b:2"],"secrets":["s"]})",
                             R"({"allow":["b:2","evil:443"],"secrets":["t"],"hide":["keys"]})");
  EXPECT_EQ(*AddDefaults(flags, around, kNobody), (List{"--allow evil:443", "--secret t"}));
  EXPECT_EQ(flags.allow, List{"b:2"});
  EXPECT_EQ(flags.secrets, List{});
  EXPECT_EQ(flags.hide, List{"/home/u/app/keys"});
}

TEST(AddDefaults, AnEmptyListOfAProjectIsNothingAtAll) {
  SandboxFlags flags;
  EXPECT_EQ(*AddDefaults(flags, Around(R"({"allow":["a:1"]})", R"({"allow":[]})"), kEverything),
            List{});
  EXPECT_EQ(flags.allow, List{});
}

TEST(AddDefaults, GrantsFlagsThatWereTypedOrConfirmed) {
  SandboxFlags flags;
  flags.allow = {"typed:1"};
  List asked;
  const auto ask = [&](const std::string& flag, const std::string& value) {
    asked.push_back(flag + " " + value);
    return value == "yes:1";
  };
  const auto around = Around("null", R"({"allow":["typed:1","yes:1","no:1"]})");
  EXPECT_EQ(*AddDefaults(flags, around, ask), List{"--allow no:1"});
  EXPECT_EQ(flags.allow, (List{"typed:1", "yes:1"}));
  EXPECT_EQ(asked, (List{"--allow yes:1", "--allow no:1"}));
}

TEST(AddDefaults, CanBeLeftOut) {
  SandboxFlags flags;
  flags.no_defaults = true;
  const auto around = Around(R"({"allow":["a:1"]})", R"({"hide":["x"],"limits":{"pids":9}})");
  EXPECT_EQ(*AddDefaults(flags, around, kEverything), List{});
  EXPECT_TRUE(flags.allow.empty() && flags.hide.empty());
}

TEST(LowerLimits, AProjectLowersAllLimitsButTypedOnes) {
  SandboxFlags flags;
  flags.limits["memory"] = "8G";
  const auto around = Around(R"({"limits":{"pids":100,"files":20}})",
                             R"({"limits":{"memory":5,"pids":50,"files":30,"wall":60,"cpu":1}})");
  ASSERT_TRUE(AddDefaults(flags, around, kNobody));
  const Body effective = {{"memory", 8.0}, {"pids", 100}, {"files", 20}, {"wall", 0}, {"cpu", 0}};
  LowerLimits(flags, around, effective, Body({"cpu: no cgroup"}), false);
  EXPECT_EQ((*SandboxRequest(flags, around))["limits"],
            Body({{"memory", uint64_t{8} << 30}, {"pids", 50}, {"files", 20}, {"wall", 60}}));
}

TEST(LowerLimits, AProjectLowersTheLifeOfAKeptSandbox) {
  const auto around = Around("null", R"({"limits":{"life":100}})");
  SandboxFlags disposable, kept;
  LowerLimits(disposable, around, Body({{"life", 50}}), Body(), false);
  LowerLimits(kept, around, Body({{"life", 50}}), Body(), true);
  EXPECT_TRUE(disposable.setting_limits.is_null());
  EXPECT_EQ(kept.setting_limits, Body({{"life", 100}}));
}

}  // namespace
}  // namespace cloche::cli
