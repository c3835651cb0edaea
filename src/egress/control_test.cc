#include "egress/control.h"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

TEST(Control, MessagesAreRead) {
  std::string sandbox;
  const auto open = ParseControlMessage(
      R"({"op":"open","sandbox":"sb_x","name":"n","sockets":["tcp4","dns4","proxy4"],
          "rules":[{"id":"r1","action":"allow","kind":"https","host":"a.b","ports":[443,443]}],
          "limits":{"connections":7},"canaries":[{"name":"a","value":"0123456789abcdef"}]})",
      sandbox);
  ASSERT_TRUE(open) << open.error().message;
  const auto& message = std::get<OpenMessage>(*open);
  EXPECT_EQ(message.sandbox, "sb_x");
  EXPECT_EQ(message.sockets, (std::vector{SocketUse::kTcp4, SocketUse::kDns4, SocketUse::kProxy4}));
  EXPECT_EQ(message.rules.size(), 1u);
  EXPECT_EQ(message.limits.connections, 7u);
  EXPECT_EQ(message.canaries, (std::vector<Canary>{{"a", "0123456789abcdef"}}));
  const auto resolver = ParseControlMessage(
      R"({"op":"resolver","nameservers":["127.0.0.1","127.0.0.1:5353","[::1]:54","::1"],
          "hosts":[["10.0.0.1","Db.internal"],["fe80::1%lo","x"]]})",
      sandbox);
  ASSERT_TRUE(resolver) << resolver.error().message;
  const auto& servers = std::get<ResolverMessage>(*resolver);
  ASSERT_EQ(servers.nameservers.size(), 4u);
  EXPECT_EQ(servers.nameservers[1].second, 5353);
  EXPECT_EQ(servers.nameservers[2].second, 54);
  ASSERT_EQ(servers.hosts.size(), 1u);
  EXPECT_EQ(servers.hosts[0].second, "db.internal");
  EXPECT_TRUE(ParseControlMessage(R"({"op":"close","sandbox":"sb_x"})", sandbox));
  const auto owner =
      ParseControlMessage(R"({"op":"owner","sandbox":"sb_x","connection":7})", sandbox);
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(std::get<OwnerMessage>(*owner).connection, 7u);
}

TEST(Control, AuthorityAndHostCasAreRead) {
  std::string sandbox;
  const auto authority = ParseControlMessage(
      R"({"op":"authority","sandbox":"sb_x","ca":{"certificate":"c","key":"k"}})", sandbox);
  ASSERT_TRUE(authority) << authority.error().message;
  EXPECT_EQ(std::get<AuthorityMessage>(*authority).sandbox, "sb_x");
  EXPECT_EQ(std::get<AuthorityMessage>(*authority).ca.key, "k");
  const auto trust = ParseControlMessage(R"({"op":"host_ca","certificates":"c"})", sandbox);
  ASSERT_TRUE(trust);
  EXPECT_TRUE(std::get<HostCaMessage>(*trust).first);
  EXPECT_FALSE(std::get<HostCaMessage>(*trust).more);
}

TEST(Control, NameServersNobodyCanAskAreLeftOut) {
  std::string sandbox;
  const auto message = ParseControlMessage(
      R"({"op":"resolver","nameservers":["fe80::1%eth0","a.b","192.0.2.53"]})", sandbox);
  ASSERT_TRUE(message);
  const auto& servers = std::get<ResolverMessage>(*message).nameservers;
  ASSERT_EQ(servers.size(), 1u);
  EXPECT_EQ(FormatIpAddress(servers[0].first), "192.0.2.53");
}

TEST(Control, RefusesInvalidMessagesAndNamesTheirSandbox) {
  std::string sandbox;
  for (const char* bad : {
           "",
           "null",
           "[]",
           "{}",
           R"({"op":"open"})",
           R"({"op":"open","sandbox":""})",
           R"({"op":"open","sandbox":1})",
           R"({"op":"open","sandbox":"s","sockets":[]})",
           R"({"op":"open","sandbox":"s","sockets":["tcp4"],"rules":[],"owners":1})",
           R"({"op":"owner","sandbox":"s"})",
           R"({"op":"owner","sandbox":"s","connection":-1})",
           R"({"op":"open","sandbox":"s","sockets":["tcp5"],"rules":[]})",
           R"({"op":"open","sandbox":"s","sockets":["tcp4"]})",
           R"({"op":"open","sandbox":"s","sockets":["tcp4"],"rules":[],"extra":1})",
           R"({"op":"open","sandbox":"s","sockets":["tcp4"],"rules":[],"canaries":1})",
           R"({"op":"open","sandbox":"s","sockets":["tcp4"],"rules":[],"canaries":[{"name":"a"}]})",
           R"({"op":"rules","sandbox":"s","rules":null})",
           R"({"op":"rules","sandbox":"s"})",
           R"({"op":"limits","sandbox":"s","limits":{"connections":-1}})",
           R"({"op":"limits","sandbox":"s","limits":{"conections":1}})",
           R"({"op":"resolver","nameservers":[1]})",
           R"({"op":"resolver","hosts":[["1.2.3.4"]]})",
           R"({"op":"grant","sandbox":"s"})",
           R"({"op":"authority","sandbox":"s"})",
           R"({"op":"authority","sandbox":"s","ca":{"certificate":"x"}})",
           R"({"op":"authority","sandbox":"s","ca":{"certificate":"x","key":"y","more":1}})",
           R"({"op":"host_ca","certificates":"","more":1})",
           R"({"op":"redact","sandbox":"s","hosts":[]})",
           R"({"op":"redact","sandbox":"s","value":"v"})",
           R"({"op":"redact","sandbox":"s","value":"v","hosts":[["a.example"]]})",
           R"({"op":"redact","sandbox":"s","value":"v","hosts":[["a.example",65536]]})",
           R"({"op":"redact","sandbox":"s","value":"v","hosts":[["a b",443]]})",
       })
    EXPECT_FALSE(ParseControlMessage(bad, sandbox)) << bad;
  const auto redaction = ParseControlMessage(
      R"({"op":"redact","sandbox":"s","value":"v","hosts":[["A.example",443]]})", sandbox);
  ASSERT_TRUE(redaction);
  EXPECT_EQ(std::get<RedactMessage>(*redaction).hosts[0],
            std::pair(std::string("a.example"), uint16_t{443}));
  EXPECT_FALSE(ParseControlMessage(R"({"op":"rules","sandbox":"sb_y","rules":"x"})", sandbox));
  EXPECT_EQ(sandbox, "sb_y");
}

}  // namespace
}  // namespace cloche::egress
