#include "egress/relay_buffers.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace cloche::egress {
namespace {

TEST(RelayBuffers, FallsBackToAPipeWhenLargeBuffersAreTaken) {
  RelayBuffers buffers;
  std::vector<RelayBuffer> taken;
  for (int i = 0; i < 16; ++i) {
    taken.push_back(buffers.Take(true));
    EXPECT_TRUE(taken.back().large()) << i;
  }
  const RelayBuffer late = buffers.Take(true);
  EXPECT_TRUE(late.valid());
  EXPECT_FALSE(late.large());

  buffers.Return(std::move(taken.back()));
  taken.back() = buffers.Take(true);
  EXPECT_TRUE(taken.back().large());
  taken.pop_back();  // of a connection that broke: not empty, so nobody else's
  EXPECT_TRUE(buffers.Take(true).large());
}

}  // namespace
}  // namespace cloche::egress
