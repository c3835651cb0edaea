#include "egress/loop.h"

#include <gtest/gtest.h>
#include <time.h>

#include "egress/task.h"

namespace cloche::egress {
namespace {

int64_t Microseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

// Takes the thread for 200 microseconds at a time, for ever.
Task<void> Busy(Loop& loop, uint64_t& turns, const bool& over) {
  Yield yield{loop};
  while (!over) {
    const int64_t began = Microseconds();
    while (Microseconds() - began < 200) {
    }
    ++turns;
    co_await yield;
  }
}

Task<void> Modest(Loop& loop, int turns, bool& over) {
  Yield yield{loop};
  for (int i = 0; i < turns; ++i) co_await yield;
  over = true;
  loop.Stop();
}

TEST(Loop, AGroupHasItsTurnHoweverManyAnotherHas) {
  Loop loop;
  ASSERT_EQ(loop.Open(), 0);
  uint64_t busy = 0;
  bool over = false;
  {
    const Loop::As as(loop, loop.NewGroup());
    for (int i = 0; i < 1000; ++i) Start(Busy(loop, busy, over));
  }
  busy = 0;
  {
    const Loop::As as(loop, loop.NewGroup());
    Start(Modest(loop, 20, over));
  }
  loop.Run();
  // A turn lasts a millisecond, so five or six of 200 microseconds. Without turns it were 1,000.
  EXPECT_LE(busy, 20u * 10u);
  EXPECT_GE(busy, 1u);
}

Task<void> NoteGroup(Loop& loop, Signal& signal, Loop::Group& group) {
  co_await signal;
  group = loop.group();
  loop.Stop();
}

TEST(Loop, AWaiterContinuesInItsOwnGroup) {
  Loop loop;
  ASSERT_EQ(loop.Open(), 0);
  Signal signal(loop);
  Loop::Group after = 99;
  const Loop::Group group = loop.NewGroup();
  {
    const Loop::As as(loop, group);
    Start(NoteGroup(loop, signal, after));
  }
  signal.Set();  // by somebody else
  loop.Run();
  EXPECT_EQ(after, group);
  EXPECT_EQ(loop.group(), Loop::kOurselves);
}

}  // namespace
}  // namespace cloche::egress
