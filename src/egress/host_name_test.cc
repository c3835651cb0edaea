#include "egress/host_name.h"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

TEST(HostName, HasOneForm) {
  EXPECT_EQ(*NormaliseHost("API.Example.COM"), "api.example.com");
  EXPECT_EQ(*NormaliseHost("api.example.com."), "api.example.com");
  EXPECT_EQ(*NormaliseHost("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(*NormaliseHost("localhost"), "localhost");
  EXPECT_EQ(*NormaliseHost(std::string(63, 'a') + ".b"), std::string(63, 'a') + ".b");
}

TEST(HostName, RefusesNamesThatParsersReadDifferently) {
  using std::string_view;
  const string_view bad[] = {"",
                             ".",
                             "..",
                             "a..b",
                             ".a",
                             "a..",
                             "-a.b",
                             "a-.b",
                             "a b",
                             " a",
                             "a ",
                             "a\t",
                             "a\r\n",
                             "a\r\nHost: b",
                             string_view("a\0.b", 4),
                             string_view("a\0", 2),
                             "a%00",
                             "a@b",
                             "u:p@b",
                             "a/b",
                             "a\\b",
                             "a#b",
                             "a?b",
                             "[::1]",
                             "::1",
                             "127.0.0.1",
                             "127.1",
                             "0x7f.1",
                             "2130706433",
                             "0177.1",
                             "1.2.3.4.",
                             "a.0x",
                             "a.1",
                             "0",
                             "b\xc3\xbc"
                             "cher.example",
                             "a\xe3\x80\x82"
                             "b",
                             "\xef\xbd\x81.b",
                             "*",
                             "*.a",
                             "a:80",
                             "a,b",
                             "\"a\"",
                             "a\x7f",
                             "\xff"};
  for (const string_view each : bad) EXPECT_FALSE(NormaliseHost(each)) << each;
  EXPECT_FALSE(NormaliseHost(std::string(64, 'a') + ".b"));
  std::string labels;
  for (int i = 0; i < 127; ++i) labels += "a.";
  EXPECT_FALSE(NormaliseHost(labels + "a"));
}

TEST(HostName, WildcardsCoverWholeLabelsBelow) {
  EXPECT_TRUE(HostMatches("*.example.com", "a.example.com"));
  EXPECT_TRUE(HostMatches("*.example.com", "a.b.example.com"));
  EXPECT_FALSE(HostMatches("*.example.com", "example.com"));
  EXPECT_FALSE(HostMatches("*.example.com", "evilexample.com"));
  EXPECT_FALSE(HostMatches("*.example.com", "a.example.com.evil"));
  EXPECT_TRUE(HostMatches("example.com", "example.com"));
  EXPECT_FALSE(HostMatches("example.com", "a.example.com"));
  EXPECT_FALSE(HostMatches("example.com", "evilexample.com"));
}

TEST(Authority, IsReadOnce) {
  const auto name = ParseAuthority("API.example.com:8443");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "api.example.com");
  EXPECT_EQ(name->port, 8443);
  EXPECT_FALSE(name->is_address);
  EXPECT_EQ(ParseAuthority("api.example.com")->port, 0);
  EXPECT_EQ(ParseAuthority("[::1]:80")->host, "::1");
  EXPECT_EQ(ParseAuthority("[::ffff:127.0.0.1]:80")->host, "127.0.0.1");
  EXPECT_TRUE(ParseAuthority("10.0.0.1")->is_address);
  for (const char* bad :
       {"",        ":80",    "a:",          "a:0", "a:65536",  "a:65537", "a:080",   "a:-1",
        "a:+1",    "a:80 ",  "a:80:80",     "a@b", "a:x@b:80", "::1",     "::1:80",  "[::1",
        "[::1]80", "[::1]:", "[127.0.0.1]", "[a]", "127.1:80", "0x7f.1",  "a\r\n:80"})
    EXPECT_FALSE(ParseAuthority(bad)) << bad;
}

}  // namespace
}  // namespace cloche::egress
