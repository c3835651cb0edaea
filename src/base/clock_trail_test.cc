#include "base/clock_trail.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

ClockReading At(const char* boot, int64_t real_s, int64_t since_boot_s) {
  return {boot, real_s * kSecond, since_boot_s * kSecond};
}

TEST(ClockTrail, ASteadyClockWasNotSetBack) {
  ClockTrail trail;
  for (int64_t i = 0; i < 100; ++i) EXPECT_FALSE(trail.Observe(At("a", 1000 + i, 10 + i)));
  EXPECT_EQ(trail.back_ns(), 0);
  EXPECT_EQ(SinceWithClock(500 * kSecond, trail.back_ns()), 500 * kSecond);
}

TEST(ClockTrail, SuspendAndALaterBootAreNotStepsBack) {
  ClockTrail trail(At("a", 1000, 10), 0);
  EXPECT_FALSE(trail.Observe(At("a", 9000, 8010)));
  EXPECT_FALSE(trail.Observe(At("b", 9100, 3)));
  EXPECT_FALSE(trail.Observe(At("b", 19100, 13))) << "a step forward is harmless";
}

TEST(ClockTrail, AStepBackInTheSameBootIsFoundThoughTheClockHasPassedTheBirthAgain) {
  ClockTrail trail(At("a", 10'000, 10), 0);
  EXPECT_TRUE(trail.Observe(At("a", 10'400, 4010)));  // 4000 s later it says 400 s later
  EXPECT_EQ(trail.back_ns(), 3600 * kSecond);
  EXPECT_EQ(SinceWithClock(10'000 * kSecond, trail.back_ns()), kAllMoved);
  EXPECT_EQ(DescribeSetBack(trail.back_ns()),
            "the clock was set back by 3600 s after this sandbox was made");
}

TEST(ClockTrail, RemembersAStepBackAfterAStepForward) {
  ClockTrail trail(At("a", 10'000, 10), 0);
  EXPECT_TRUE(trail.Observe(At("a", 6'410, 20)));
  EXPECT_FALSE(trail.Observe(At("a", 10'020, 30)));
  EXPECT_EQ(trail.back_ns(), 3600 * kSecond);
}

TEST(ClockTrail, AnotherBootWhoseClockIsBeforeTheLastOneIsAStepBack) {
  ClockTrail trail(At("a", 10'000, 10), 0);
  EXPECT_TRUE(trail.Observe(At("b", 0, 5)));
  EXPECT_EQ(trail.back_ns(), 10'000 * kSecond);
}

TEST(ClockTrail, ASmallStepOnlyMovesTheMomentAndManyOfThemAddUp) {
  ClockTrail trail(At("a", 10'000, 10), 0);
  EXPECT_TRUE(trail.Observe({"a", 10'001 * kSecond - kSecond / 2, 11 * kSecond}));
  EXPECT_EQ(SinceWithClock(10'000 * kSecond, trail.back_ns()), 10'000 * kSecond - kSecond / 2);
  ClockTrail creeping(At("a", 10'000, 10), 0);
  for (int64_t i = 1; i <= 1000; ++i)  // 5 ms a second
    creeping.Observe({"a", (10'000 + i) * kSecond - i * 5'000'000, (10 + i) * kSecond});
  EXPECT_GE(creeping.back_ns(), 4'980'000'000);
}

TEST(ClockTrail, IgnoresJitterBetweenReadings) {
  ClockTrail trail(At("a", 10'000, 10), 0);
  for (int64_t i = 1; i < 100; ++i)
    EXPECT_FALSE(
        trail.Observe({"a", (10'000 + i) * kSecond - (i % 2) * 1'000'000, (10 + i) * kSecond}));
  EXPECT_EQ(trail.back_ns(), 0);
}

}  // namespace
}  // namespace cloche
