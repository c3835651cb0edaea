#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(IpAddress, OnlyPlainFormsAreAddresses) {
  for (const char* good : {"127.0.0.1", "0.0.0.0", "255.255.255.255", "::", "::1", "fe80::1",
                           "2001:db8::1", "::ffff:1.2.3.4"})
    EXPECT_TRUE(ParseIpAddress(good)) << good;
  for (const char* bad :
       {"", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "127.0.0.1.", " 127.0.0.1",
        "127.0.0.1 ", "256.0.0.1", "1.2.3", "fe80::1%lo", "[::1]", "::g", "1:2:3:4:5:6:7:8:9"})
    EXPECT_FALSE(ParseIpAddress(bad)) << bad;
  EXPECT_FALSE(ParseIpAddress(std::string_view("1.2.3.4\0", 8)));
}

TEST(IpAddress, MappedIpv4IsIpv4) {
  EXPECT_EQ(ParseIpAddress("::ffff:127.0.0.1"), Ipv4(127, 0, 0, 1));
  EXPECT_EQ(ParseIpAddress("::ffff:7f00:1"), Ipv4(127, 0, 0, 1));
  EXPECT_EQ(FormatIpAddress(*ParseIpAddress("::ffff:127.0.0.1")), "127.0.0.1");
}

TEST(IpAddress, EndpointsAreWrittenAsInUrls) {
  EXPECT_EQ(FormatEndpoint(*ParseIpAddress("::1"), 80), "[::1]:80");
  EXPECT_EQ(FormatEndpoint(Ipv4(1, 2, 3, 4), 443), "1.2.3.4:443");
}

TEST(IpRange, ContainsByPrefix) {
  const auto range = ParseIpRange("172.16.0.0/12");
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->Contains(Ipv4(172, 16, 0, 0)));
  EXPECT_TRUE(range->Contains(Ipv4(172, 31, 255, 255)));
  EXPECT_FALSE(range->Contains(Ipv4(172, 32, 0, 0)));
  EXPECT_FALSE(range->Contains(*ParseIpAddress("ac10::")));
  EXPECT_TRUE(ParseIpRange("0.0.0.0/0")->Contains(Ipv4(9, 9, 9, 9)));
  EXPECT_TRUE(ParseIpRange("1.2.3.4")->Contains(Ipv4(1, 2, 3, 4)));
  EXPECT_FALSE(ParseIpRange("1.2.3.4")->Contains(Ipv4(1, 2, 3, 5)));
}

TEST(IpRange, BadOnesAreRefused) {
  for (const char* bad : {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8x",
                          "10.0.0.1/8", "/8", "::/129", "10/8", "10.0.0.0/8/8"})
    EXPECT_FALSE(ParseIpRange(bad)) << bad;
  EXPECT_EQ(FormatIpRange(*ParseIpRange("fd00::/8")), "fd00::/8");
}

TEST(ReservedUse, NothingSpecialIsPublic) {
  for (const char* special : {"0.0.0.0",       "10.1.2.3",        "100.64.0.1",
                              "127.0.0.1",     "127.255.0.1",     "169.254.169.254",
                              "172.20.0.1",    "192.0.0.8",       "192.0.2.1",
                              "192.168.1.1",   "198.18.0.7",      "198.19.255.1",
                              "198.51.100.1",  "203.0.113.9",     "224.0.0.1",
                              "240.0.0.1",     "255.255.255.255", "::",
                              "::1",           "fe80::1",         "fc00::1",
                              "fd00:ec2::254", "ff02::1",         "64:ff9b::7f00:1",
                              "2002:7f00:1::", "2001::1",         "2001:db8::1",
                              "3fff::1",       "4000::1",         "::7f00:1"})
    EXPECT_NE(ReservedUse(*ParseIpAddress(special)), nullptr) << special;
  for (const char* open : {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.32.0.1",
                           "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00::1"})
    EXPECT_EQ(ReservedUse(*ParseIpAddress(open)), nullptr) << open;
}

}  // namespace
}  // namespace cloche
