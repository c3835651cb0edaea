#include "api/guest.h"

#include <gtest/gtest.h>

namespace cloche::api {
namespace {

TEST(Guest, HoldsNoMoreThanItsShare) {
  const auto guest = std::make_shared<Guest>();
  auto most = Hold::Take(guest, Guest::kMostBytes - 10);
  ASSERT_TRUE(most);
  EXPECT_FALSE(Hold::Take(guest, 11));
  auto rest = Hold::Take(guest, 10);
  ASSERT_TRUE(rest);
  EXPECT_FALSE(Hold::TakeLast(guest, 1));
  rest.reset();
  // As large as it is, once: an answer cannot be made smaller.
  auto large = Hold::TakeLast(guest, 10 * Guest::kMostBytes);
  ASSERT_TRUE(large);
  EXPECT_FALSE(Hold::TakeLast(guest, 0));
  large.reset();
  most.reset();
  EXPECT_EQ(guest->bytes, 0u);
}

TEST(Guest, BytesMoveWithTheirHold) {
  const auto guest = std::make_shared<Guest>();
  {
    Hold kept;
    {
      auto taken = Hold::Take(guest, 100);
      ASSERT_TRUE(taken);
      kept = std::move(*taken);
    }
    EXPECT_EQ(guest->bytes, 100u);
    Hold moved(std::move(kept));
    kept = Hold();
    EXPECT_EQ(guest->bytes, 100u);
  }
  EXPECT_EQ(guest->bytes, 0u);
}

TEST(Guest, ACrowdHasSmallerBuffers) {
  Guest guest;
  guest.connections = 5;
  EXPECT_EQ(guest.Crowding(), 1u);
  guest.connections = Guest::kMostConnections;
  EXPECT_EQ(guest.Crowding(), 64u);
}

}  // namespace
}  // namespace cloche::api
