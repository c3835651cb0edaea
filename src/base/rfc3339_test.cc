#include "base/rfc3339.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(Rfc3339, IsTheDateInUtc) {
  EXPECT_EQ(Rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Rfc3339(1'709'164'799), "2024-02-28T23:59:59Z");
  EXPECT_EQ(Rfc3339(1'709'164'800), "2024-02-29T00:00:00Z");
  EXPECT_EQ(Rfc3339Millis(1'709'164'800'007), "2024-02-29T00:00:00.007Z");
}

TEST(Rfc3339, TimesBefore1970HaveADateToo) {
  EXPECT_EQ(Rfc3339(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(Rfc3339Millis(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace cloche
