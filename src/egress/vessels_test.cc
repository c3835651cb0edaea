#include "egress/vessels.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace cloche::egress {
namespace {

TEST(Vessels, WhoeverComesWhenTheLargeOnesAreTakenHasAPipe) {
  Vessels vessels;
  std::vector<Vessel> taken;
  for (int i = 0; i < 16; ++i) {
    taken.push_back(vessels.Take(true));
    EXPECT_TRUE(taken.back().large()) << i;
  }
  const Vessel late = vessels.Take(true);
  EXPECT_TRUE(late.valid());
  EXPECT_FALSE(late.large());

  vessels.Return(std::move(taken.back()));
  taken.back() = vessels.Take(true);
  EXPECT_TRUE(taken.back().large());
  taken.pop_back();  // of a connection that broke: not empty, so nobody else's
  EXPECT_TRUE(vessels.Take(true).large());
}

}  // namespace
}  // namespace cloche::egress
