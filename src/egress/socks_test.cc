#include "egress/socks.h"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

using namespace std::string_literals;

TEST(Socks, GreetingAndRequestAreRead) {
  size_t used = 0;
  SocksGreeting greeting;
  EXPECT_EQ(ParseSocksGreeting("\5\2\2\0"s, used, greeting), Parsed::kDone);
  EXPECT_TRUE(greeting.plain);
  EXPECT_EQ(used, 4u);
  EXPECT_EQ(ParseSocksGreeting("\5\1\2more"s, used, greeting), Parsed::kDone);
  EXPECT_FALSE(greeting.plain);
  EXPECT_EQ(used, 3u);

  SocksRequest request;
  const std::string named = "\5\1\0\3\7a.b.c.d\1\xbb"s;
  for (size_t cut = 0; cut < named.size(); ++cut)
    ASSERT_EQ(ParseSocksRequest(named.substr(0, cut), used, request), Parsed::kMore) << cut;
  EXPECT_EQ(ParseSocksRequest(named + "x", used, request), Parsed::kDone);
  EXPECT_EQ(used, named.size());
  EXPECT_EQ(request.name, "a.b.c.d");
  EXPECT_EQ(request.port, 443);
  EXPECT_EQ(ParseSocksRequest("\5\1\0\1\1\2\3\4\0\x50"s, used, request), Parsed::kDone);
  EXPECT_EQ(request.address, Ipv4(1, 2, 3, 4));
  EXPECT_EQ(request.port, 80);
}

TEST(Socks, RejectsOtherBytes) {
  size_t used = 0;
  SocksGreeting greeting;
  SocksRequest request;
  EXPECT_EQ(ParseSocksGreeting("\4\1"s, used, greeting), Parsed::kBad);
  EXPECT_EQ(ParseSocksGreeting("\5\0"s, used, greeting), Parsed::kBad);
  EXPECT_EQ(ParseSocksRequest("\4"s, used, request), Parsed::kBad);
  EXPECT_EQ(ParseSocksRequest("\5\1\1\1\0\0\0\0\0\0"s, used, request), Parsed::kBad);
  EXPECT_EQ(ParseSocksRequest("\5\1\0\2\0\0\0\0\0\0"s, used, request), Parsed::kBad);
  EXPECT_EQ(ParseSocksRequest("\5\1\0\3\0\0\0"s, used, request), Parsed::kBad);
  EXPECT_EQ(MakeSocksReply(kSocksNotAllowed), "\5\2\0\1\0\0\0\0\0\0"s);
}

}  // namespace
}  // namespace cloche::egress
