#include "egress/rule.h"

#include <gtest/gtest.h>

#include "egress/rule_text.h"

namespace cloche::egress {
namespace {

TEST(RuleText, ReadsTheFormsPeopleWrite) {
  struct {
    const char* text;
    const char* again;
  } const cases[] = {
      {"api.example.com:443", "https://api.example.com"},
      {"api.example.com", "https://api.example.com"},
      {"https://API.example.com/v1", "https://api.example.com/v1"},
      {"https://api.example.com/", "https://api.example.com"},
      {"*.example.com:8443", "https://*.example.com:8443"},
      {"ssh://git.example.com:22", "ssh://git.example.com"},
      {"tcp://10.0.0.0/8:5432-5440", "tcp://10.0.0.0/8:5432-5440"},
      {"tcp://10.1.2.3:5432", "tcp://10.1.2.3:5432"},
      {"tcp://[fd00::/8]:443", "tcp://[fd00::/8]:443"},
      {"tcp://[fd00::1]:443", "tcp://[fd00::1]:443"},
      {"http://10.0.0.1/admin", "http://10.0.0.1/admin"},
      {"http://10.0.0.0/8/admin", "http://10.0.0.0/8/admin"},
      {"http://127.0.0.2:8080", "http://127.0.0.2:8080"},
      {"GET,HEAD https://api.example.com/v1", "GET,HEAD https://api.example.com/v1"},
      {"host.cloche:5432", "tcp://host.cloche:5432"},
  };
  for (const auto& each : cases) {
    const auto rule = ParseRule(each.text);
    ASSERT_TRUE(rule) << each.text << ": " << rule.error().message;
    EXPECT_EQ(FormatRule(*rule), each.again);
    EXPECT_EQ(*ParseRule(FormatRule(*rule)), *rule) << each.text;
  }
}

TEST(RuleText, RefusesAmbiguousRules) {
  for (const char* bad : {"",
                          "*",
                          "*.",
                          "https://",
                          "ftp://a.example",
                          "https://u@a.example",
                          "a.example:0",
                          "a.example:65537",
                          "a.example:9-8",
                          "a.example:",
                          "a.example:80-",
                          "tcp://a.example",
                          "tcp://10.1.2.3/8:1",
                          "tcp://a.example:1/path",
                          "ssh://a.example/x",
                          "a.*.example",
                          "https://a.example/../x",
                          "https://a.example/%2e",
                          "https://a.example//x",
                          "https://a.example/x?y",
                          "get https://a.example",
                          " https://a.example",
                          "0x7f.1:80",
                          "2130706433:80",
                          "https://[10.0.0.1",
                          "http://a.example\r\n",
                          "tcp://10.0.0.0/33:1"})
    EXPECT_FALSE(ParseRule(bad)) << bad;
}

TEST(RuleText, ANameMayBeBoundToAnAddress) {
  for (const auto& [text, shown] :
       {std::pair{"git.corp.example=10.1.2.3:8443", "https://git.corp.example=10.1.2.3:8443"},
        std::pair{"GET http://a.example=10.0.0.0/8/v1", "GET http://a.example=10.0.0.0/8/v1"},
        std::pair{"tcp://db.example=[fd00::1]:5432", "tcp://db.example=[fd00::1]:5432"},
        std::pair{"*.corp.example=192.168.0.0/16", "https://*.corp.example=192.168.0.0/16"}}) {
    const auto rule = ParseRule(text);
    ASSERT_TRUE(rule) << rule.error().message;
    EXPECT_TRUE(rule->range && !rule->host.empty());
    EXPECT_EQ(FormatRule(*rule), shown);
  }
  for (const char* bad : {"a.example=", "a.example=b.example", "=10.0.0.1",
                          "a.example=10.0.0.1=", "a.example=10.1.2.3/8", "*=10.0.0.1"})
    EXPECT_FALSE(ParseRule(bad)) << bad;
}

TEST(RuleText, TheSandboxesOwnLoopbackIsNotGrantedButNamed) {
  for (const char* own : {"localhost:5432", "127.0.0.1:5432", "[::1]:5432", "127.0.1.1:5432",
                          "127.0.0.0/8:5432", "0.0.0.0:5432", "[::]:5432", "ip6-localhost:5432",
                          "localhost.localdomain:5432", "app.localhost:5432"}) {
    const auto rule = ParseRule(own);
    ASSERT_FALSE(rule) << own;
    EXPECT_NE(rule.error().cure.find("host.cloche:5432"), std::string::npos) << rule.error().cure;
  }
  for (const char* other : {"tcp://127.0.0.0/8:5432", "tcp://127.0.1.1:80", "http://localhost:80",
                            "a.example=127.0.0.1:80"})
    EXPECT_TRUE(ParseRule(other)) << other;
}

TEST(RuleText, AnyHostIsForHttps) {
  EXPECT_EQ(FormatRule(*ParseRule("*:443")), "https://*:443");
  EXPECT_EQ(FormatRule(*ParseRule("https://*:8443")), "https://*:8443");
  for (const char* bad : {"*", "https://*", "http://*:80", "tcp://*:443", "ssh://*:22"})
    EXPECT_FALSE(ParseRule(bad)) << bad;
}

TEST(RuleJson, SurvivesTheWay) {
  const auto object = nlohmann::json::parse(
      R"({"id":"r1","action":"deny","kind":"https","host":"*.Example.com","cidr":"10.0.0.0/8",
          "ports":[1,443],"methods":["GET"],"path_prefix":"/v1","expires":1900000000})");
  const auto rule = RuleFromJson(object);
  ASSERT_TRUE(rule) << rule.error().message;
  EXPECT_EQ(rule->host, "*.example.com");
  EXPECT_FALSE(rule->allow);
  EXPECT_EQ(*RuleFromJson(nlohmann::json::parse(ToJson(*rule).dump())), *rule);
}

TEST(RuleJson, UnknownAndMissingFieldsAreRefused) {
  for (const char* bad : {
           R"({})",
           R"([])",
           R"("allow")",
           R"({"action":"allow","kind":"https","ports":[1,2]})",
           R"({"action":"allow","kind":"https","host":"a.b"})",
           R"({"kind":"https","host":"a.b","ports":[1,2]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[2,1]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[0,1]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1,65536]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1,2],"metods":["GET"]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1,2],"methods":[]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1,2],"expires":-1})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1,2],"expires":"soon"})",
           R"({"action":"allow","kind":"tcp","host":"a.b","ports":[1,2],"methods":["GET"]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1,2],"cidr":"10.0.0.1/8"})",
           R"({"action":"yes","kind":"https","host":"a.b","ports":[1,2]})",
           R"({"action":"allow","kind":"https","host":"","ports":[1,2]})",
           R"({"action":"allow","kind":"https","host":"a.b","ports":[1,2],
               "secret":{"name":"N","placeholder":"short"}})",
       })
    EXPECT_FALSE(RuleFromJson(nlohmann::json::parse(bad))) << bad;
  EXPECT_FALSE(RulesFromJson(nlohmann::json()));
  EXPECT_FALSE(RulesFromJson(nlohmann::json("")));
  EXPECT_TRUE(RulesFromJson(nlohmann::json::array())->empty());
}

}  // namespace
}  // namespace cloche::egress
