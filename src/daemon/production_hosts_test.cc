#include "daemon/production_hosts.h"

#include <gtest/gtest.h>

#include "egress/decide.h"
#include "egress/rule_text.h"

namespace cloche::daemon {
namespace {

ProductionHosts Listed(const std::string& text) {
  auto hosts = ProductionHosts::Parse(text, "/etc/list");
  EXPECT_TRUE(hosts);
  return hosts ? *hosts : ProductionHosts();
}

egress::Rule Rule(const char* text) {
  auto rule = egress::ParseRule(text);
  EXPECT_TRUE(rule) << text;
  return rule.value_or(egress::Rule());
}

TEST(ProductionHosts, AreNotGrantedByName) {
  const ProductionHosts hosts = Listed("# ours\nDB.Example.com\n\n*.prod.example  # all\n");
  EXPECT_FALSE(hosts.Check(Rule("db.example.com:443")));
  EXPECT_FALSE(hosts.Check(Rule("tcp://db.example.com:5432")));
  EXPECT_FALSE(hosts.Check(Rule("a.prod.example")));
  EXPECT_FALSE(hosts.Check(Rule("*.prod.example")));
  EXPECT_TRUE(hosts.Check(Rule("api.example.com")));
  egress::Rule denial = Rule("db.example.com");
  denial.allow = false;
  EXPECT_TRUE(hosts.Check(denial));
}

TEST(ProductionHosts, StayClosedToWiderRules) {
  const ProductionHosts hosts = Listed("db.example.com\n");
  std::vector<egress::Rule> rules = {Rule("*.example.com:443")};
  const egress::Target target{.name = "db.example.com", .address = {}, .port = 443};
  EXPECT_TRUE(egress::DecideConnection(rules, target, 0).allowed);
  rules.insert(rules.end(), hosts.denials().begin(), hosts.denials().end());
  EXPECT_FALSE(egress::DecideConnection(rules, target, 0).allowed);
}

TEST(ProductionHosts, AFileThatCannotBeParsedRefusesEverything) {
  for (const char* text : {"db example\n", "http://x\n", "a b\n", "-\n"})
    EXPECT_FALSE(ProductionHosts::Parse(text, "/etc/list")) << text;
}

}  // namespace
}  // namespace cloche::daemon
