#include "sys/dead_ends.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cloche::sys {
namespace {

TEST(DeadEnds, AreReadByTheirNames) {
  EXPECT_EQ(ParseDeadEnds("Ip: Forwarding OutRequests OutNoRoutes\nIp: 2 17 3\n"
                          "Tcp: OutNoRoutes\nTcp: -1\n"
                          "Udp: InDatagrams NoPorts\nUdp: 1 4\n"),
            (DeadEnds{3, 4}));
}

TEST(DeadEnds, MissingOrBrokenCountersAreZero) {
  for (const char* text : {"", "\n", "Ip:", "Ip: OutNoRoutes", "Ip: OutNoRoutes\nUdp: 5\n",
                           "Ip: OutNoRoutes\nIp:\n", "Ip: OutNoRoutes\nIp: x\n"})
    EXPECT_EQ(ParseDeadEnds(text), DeadEnds()) << text;
  EXPECT_EQ(ReadDeadEnds(0), std::nullopt);
  EXPECT_NE(ReadDeadEnds(getpid()), std::nullopt);
}

}  // namespace
}  // namespace cloche::sys
