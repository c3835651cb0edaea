#include "egress/decide.h"

#include <gtest/gtest.h>

#include "egress/rule_text.h"

namespace cloche::egress {
namespace {

constexpr int64_t kNow = 1'000'000;

Rule Allow(const char* text) {
  Rule rule = ParseRule(text).value();
  rule.id = text;
  return rule;
}

Rule Deny(const char* text) {
  Rule rule = Allow(text);
  rule.allow = false;
  return rule;
}

Target Named(const char* name, uint16_t port) { return {.name = name, .port = port}; }
Target At(const char* address, uint16_t port) {
  return {.address = ParseIpAddress(address).value(), .port = port};
}

bool Allowed(const std::vector<Rule>& rules, const Target& target) {
  return DecideConnection(rules, target, kNow).allowed;
}

TEST(Decide, NoRulesGrantNothing) {
  EXPECT_FALSE(Allowed({}, Named("a.example", 443)));
  EXPECT_FALSE(Allowed({}, At("1.1.1.1", 443)));
  EXPECT_FALSE(NameIsGranted({}, "a.example", kNow));
}

TEST(Decide, HostAndPortMustBothBeCovered) {
  const std::vector<Rule> rules = {Allow("api.example.com:443"), Allow("tcp://db.example:1-9")};
  EXPECT_TRUE(Allowed(rules, Named("api.example.com", 443)));
  EXPECT_FALSE(Allowed(rules, Named("api.example.com", 80)));
  EXPECT_FALSE(Allowed(rules, Named("example.com", 443)));
  EXPECT_FALSE(Allowed(rules, Named("api.example.com.evil", 443)));
  EXPECT_TRUE(Allowed(rules, Named("db.example", 9)));
  EXPECT_FALSE(Allowed(rules, Named("db.example", 10)));
  EXPECT_TRUE(NameIsGranted(rules, "db.example", kNow));
  EXPECT_FALSE(NameIsGranted(rules, "other.example", kNow));
}

TEST(Decide, DenyOverridesAllowInAnyOrder) {
  for (const bool first : {true, false}) {
    std::vector<Rule> rules = {Allow("*.example.com:443")};
    rules.insert(first ? rules.begin() : rules.end(), Deny("secret.example.com:443"));
    EXPECT_TRUE(Allowed(rules, Named("a.example.com", 443)));
    const auto denied = DecideConnection(rules, Named("secret.example.com", 443), kNow);
    EXPECT_FALSE(denied.allowed);
    EXPECT_EQ(denied.rule, "secret.example.com:443");
  }
}

TEST(Decide, ExpiredRulesAreGone) {
  Rule rule = Allow("a.example");
  rule.expires = kNow;
  EXPECT_FALSE(Allowed({rule}, Named("a.example", 443)));
  rule.expires = kNow + 1;
  EXPECT_TRUE(Allowed({rule}, Named("a.example", 443)));
  EXPECT_EQ(NextExpiry(std::vector<Rule>{rule}, kNow), kNow + 1);
}

TEST(Decide, AddressesNeedARange) {
  const std::vector<Rule> rules = {Allow("a.example"), Allow("tcp://10.0.0.0/8:5432")};
  EXPECT_TRUE(Allowed(rules, At("10.1.1.1", 5432)));
  EXPECT_FALSE(Allowed(rules, At("10.1.1.1", 443)));
  EXPECT_FALSE(Allowed(rules, At("11.1.1.1", 5432)));
  EXPECT_FALSE(Allowed({Allow("*.example")}, At("1.1.1.1", 443)));
}

TEST(Decide, NamesMayLeadToPublicAddressesOnly) {
  const std::vector<Rule> rules = {Allow("a.example")};
  const Target target = Named("a.example", 443);
  EXPECT_TRUE(DecideAddress(rules, target, Kind::kHttps, *ParseIpAddress("1.1.1.1"), kNow).allowed);
  for (const char* bad : {"127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1",
                          "fd00:ec2::254", "198.18.0.7", "64:ff9b::7f00:1"})
    EXPECT_FALSE(DecideAddress(rules, target, Kind::kHttps, *ParseIpAddress(bad), kNow).allowed)
        << bad;
}

TEST(Decide, ARangeLetsNamesIn) {
  std::vector<Rule> rules = {Allow("a.example"), Allow("tcp://10.0.0.0/8:443")};
  const Target target = Named("a.example", 443);
  EXPECT_TRUE(DecideAddress(rules, target, Kind::kHttps, Ipv4(10, 0, 0, 1), kNow).allowed);
  EXPECT_FALSE(DecideAddress(rules, target, Kind::kHttps, Ipv4(127, 0, 0, 1), kNow).allowed);
  EXPECT_TRUE(DecideAddress(rules, target, Kind::kHttps, Ipv4(1, 1, 1, 1), kNow).allowed);
  rules[1].first_port = rules[1].last_port = 5432;  // of another service
  EXPECT_FALSE(DecideAddress(rules, target, Kind::kHttps, Ipv4(10, 0, 0, 1), kNow).allowed);
  rules[1] = Deny("tcp://1.0.0.0/8:443");
  EXPECT_FALSE(DecideAddress(rules, target, Kind::kHttps, Ipv4(1, 1, 1, 1), kNow).allowed);
}

TEST(Decide, AWideRangeGrantsNoReservedAddress) {
  for (const char* wide : {"tcp://0.0.0.0/0:80", "tcp://0.0.0.0/1:80", "tcp://96.0.0.0/3:80",
                           "tcp://126.0.0.0/7:80", "tcp://[::/0]:80", "tcp://[::/1]:80",
                           "tcp://[::/127]:80", "tcp://[8000::/1]:80", "tcp://[fe00::/7]:80"}) {
    const std::vector<Rule> rules = {
        Allow(wide), Allow("http://a.example"),
        Allow(std::string(wide).replace(0, 6, "tcp://b.example=").c_str())};
    for (const char* reserved :
         {"127.0.0.1", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.17.0.1",
          "192.168.1.1", "::1", "::", "fe80::1", "fd00:ec2::254", "64:ff9b::7f00:1"}) {
      EXPECT_FALSE(Allowed(rules, At(reserved, 80))) << wide << " " << reserved;
      for (const char* name : {"a.example", "b.example"})
        EXPECT_FALSE(
            DecideAddress(rules, Named(name, 80), Kind::kTcp, *ParseIpAddress(reserved), kNow)
                .allowed)
            << wide << " " << reserved;
    }
  }
  EXPECT_TRUE(Allowed({Allow("tcp://0.0.0.0/0:80")}, At("1.1.1.1", 80)));
  EXPECT_TRUE(Allowed({Allow("tcp://[::/0]:80")}, At("2606:4700::1111", 80)));
  EXPECT_FALSE(
      Allowed({Allow("tcp://0.0.0.0/0:80"), Deny("tcp://0.0.0.0/1:80")}, At("1.1.1.1", 80)));
  // A rule that names it does, by a part of the range or by all of it.
  EXPECT_TRUE(Allowed({Allow("tcp://127.0.0.0/8:80")}, At("127.0.0.1", 80)));
  EXPECT_TRUE(Allowed({Allow("tcp://169.254.169.254:80")}, At("169.254.169.254", 80)));
  EXPECT_TRUE(Allowed({Allow("tcp://172.17.0.0/16:80")}, At("172.17.0.1", 80)));
  EXPECT_TRUE(Allowed({Allow("tcp://[fd00::/8]:80")}, At("fd00::1", 80)));
  EXPECT_TRUE(Allowed({Allow("tcp://[::1]:80")}, At("::1", 80)));
  EXPECT_TRUE(Allowed({Allow("tcp://[4000::/16]:80")}, At("4000::1", 80)));
}

TEST(Decide, TheGrantADenialNamesCanBeGiven) {
  for (const char* address : {"127.0.0.1", "::1", "0.0.0.0", "10.0.0.1", "1.1.1.1"}) {
    const std::string text = DenialText(At(address, 80), "box");
    const std::string rule = text.substr(text.rfind(' ') + 1);
    const auto parsed = ParseRule(rule);
    ASSERT_TRUE(parsed) << text;
    EXPECT_TRUE(Allowed({*parsed}, At(address, 80))) << text;
  }
}

TEST(Decide, ARuleAboutRequestsAtAnAddressLetsNoNameIn) {
  const Target target = Named("a.example", 80);
  const auto leads = [&](const char* at_address, Kind kind) {
    const std::vector<Rule> rules = {Allow("http://a.example"), Allow("tcp://a.example:80"),
                                     Allow(at_address)};
    return DecideAddress(rules, target, kind, Ipv4(10, 0, 0, 1), kNow).allowed;
  };
  for (const char* narrow : {"GET http://10.0.0.1", "http://10.0.0.1/v1", "http://10.0.0.2",
                             "https://10.0.0.1:80", "ssh://10.0.0.1:80"})
    EXPECT_FALSE(leads(narrow, Kind::kHttp)) << narrow;
  EXPECT_TRUE(leads("http://10.0.0.1", Kind::kHttp));
  EXPECT_FALSE(leads("http://10.0.0.1", Kind::kTcp)) << "more than the address was granted for";
  EXPECT_TRUE(leads("tcp://10.0.0.1:80", Kind::kHttp));
  // With its name it may, and no other name may.
  EXPECT_TRUE(leads("GET http://a.example=10.0.0.1/v1", Kind::kHttp));
  EXPECT_FALSE(leads("GET http://b.example=10.0.0.1/v1", Kind::kHttp));
  EXPECT_FALSE(leads("http://a.example=10.0.0.1", Kind::kTcp));
}

TEST(Decide, SaysWhichRuleWouldBindANameToAnAddress) {
  EXPECT_EQ(AddressGrantText(Named("git.corp.example", 443), Kind::kHttps, Ipv4(10, 1, 2, 3), "sb"),
            "; grant it with: cloche net sb allow https://git.corp.example=10.1.2.3");
  EXPECT_EQ(AddressGrantText(Named("a.example", 80), Kind::kHttp, *ParseIpAddress("fd00::1"), "sb"),
            "; grant it with: cloche net sb allow http://a.example=[fd00::1]");
}

TEST(Decide, NoRuleIsSuggestedForTheMetadataServicesOfClouds) {
  for (const char* address : {"169.254.169.254", "fe80::a9fe:a9fe"}) {
    const std::string text =
        AddressGrantText(Named("a.example", 80), Kind::kHttp, *ParseIpAddress(address), "sb");
    EXPECT_EQ(text.find("allow"), std::string::npos) << text;
    EXPECT_NE(text.find("credentials"), std::string::npos) << text;
  }
}

TEST(Decide, AnyHostIsAnyNameOnHttpsButNotTheMachineItself) {
  const std::vector<Rule> rules = {Allow("*:443"), Deny("bad.example")};
  EXPECT_TRUE(Allowed(rules, Named("a.example", 443)));
  EXPECT_FALSE(Allowed(rules, Named("a.example", 80)));
  EXPECT_FALSE(Allowed(rules, Named("bad.example", 443)));
  EXPECT_FALSE(Allowed(rules, Named("host.cloche", 443)));
  EXPECT_FALSE(Allowed(rules, At("1.1.1.1", 443)));
  EXPECT_FALSE(
      DecideAddress(rules, Named("a.example", 443), Kind::kHttps, Ipv4(10, 0, 0, 1), kNow).allowed);
}

TEST(Decide, AHostWithARangeLiesThereAndNowhereElse) {
  Rule rule = Allow("a.example");
  rule.range = ParseIpRange("10.0.0.0/8");
  const Target target = Named("a.example", 443);
  EXPECT_TRUE(DecideAddress({&rule, 1}, target, Kind::kHttps, Ipv4(10, 0, 0, 1), kNow).allowed);
  EXPECT_FALSE(DecideAddress({&rule, 1}, target, Kind::kHttps, Ipv4(1, 1, 1, 1), kNow).allowed);
  EXPECT_FALSE(Allowed({rule}, At("10.0.0.1", 443)));
}

TEST(Decide, TheMachineItselfIsNamed) {
  const std::vector<Rule> rules = {Allow("host.cloche:5432")};
  const Target target = Named("host.cloche", 5432);
  EXPECT_TRUE(Allowed(rules, target));
  EXPECT_TRUE(DecideAddress(rules, target, Kind::kHttps, Ipv4(127, 0, 0, 1), kNow).allowed);
}

bool MayAsk(const std::vector<Rule>& rules, std::string_view method, std::string_view path,
            bool overrides = false, bool overrides_path = false) {
  const Request request{method, path, overrides, overrides_path};
  return DecideRequest(rules, Named("a.example", 443), Kind::kHttps, request, kNow).allowed;
}

TEST(DecideRequest, MethodsAndPathsAreChecked) {
  const std::vector<Rule> rules = {Allow("GET,HEAD https://a.example/v1")};
  EXPECT_TRUE(MayAsk(rules, "GET", "/v1"));
  EXPECT_TRUE(MayAsk(rules, "HEAD", "/v1/x"));
  EXPECT_FALSE(MayAsk(rules, "POST", "/v1/x"));
  EXPECT_FALSE(MayAsk(rules, "get", "/v1/x"));
  EXPECT_FALSE(MayAsk(rules, "GET", "/v10"));
  EXPECT_FALSE(MayAsk(rules, "GET", "/"));
  EXPECT_FALSE(MayAsk(rules, "GET", "/v1/x", true));
  EXPECT_TRUE(MayAsk({Allow("a.example")}, "DELETE", "/anything", true));
}

TEST(DecideRequest, PathsThatCouldBeTwoAreNotBelowAny) {
  const std::vector<Rule> rules = {Allow("https://a.example/v1")};
  for (const char* bad : {"/v1/../x",
                          "/v1/..",
                          "/v1/./x",
                          "/v1/%2e%2e/x",
                          "/v1/%2E./x",
                          "/v1//x",
                          "/v1/..;/x",
                          "/v1/a%2fb",
                          "/v1/a%5cb",
                          "/v1\\x",
                          "/v1/%252e",
                          "/v1/%00",
                          "/v1/%",
                          "/v1/%2",
                          "/v1/%zz",
                          "*",
                          "",
                          "/v1/%c0%ae%c0%ae/x",
                          "/v1/%e0%80%af",
                          "/v1/%ff"})
    EXPECT_FALSE(MayAsk(rules, "GET", bad)) << bad;
  EXPECT_TRUE(MayAsk(rules, "GET", "/v1/a%20b"));
  EXPECT_TRUE(MayAsk(rules, "GET", "/v1/caf%C3%A9"));
  EXPECT_TRUE(MayAsk(rules, "GET", "/v1/...x"));
  EXPECT_TRUE(MayAsk({Allow("a.example")}, "GET", "/a//b"));
}

TEST(DecideRequest, ADeniedMethodStaysDeniedInDisguise) {
  const std::vector<Rule> rules = {Allow("a.example"), Deny("DELETE https://a.example"),
                                   Deny("https://a.example/admin")};
  EXPECT_TRUE(Allowed(rules, Named("a.example", 443)));
  EXPECT_TRUE(MayAsk(rules, "GET", "/x"));
  EXPECT_FALSE(MayAsk(rules, "DELETE", "/x"));
  EXPECT_FALSE(MayAsk(rules, "POST", "/x", true));
  EXPECT_FALSE(MayAsk(rules, "GET", "/admin/x"));
  EXPECT_FALSE(MayAsk(rules, "GET", "/y/../admin"));
}

TEST(DecideRequest, ADenialCoversAllSpellings) {
  const std::vector<Rule> rules = {Allow("a.example"), Deny("DELETE https://a.example"),
                                   Deny("https://a.example/admin")};
  for (const char* path : {"/%61dmin", "/Admin/x", "/%41DMIN", "/adm%69n/y"})
    EXPECT_FALSE(MayAsk(rules, "GET", path)) << path;
  EXPECT_FALSE(MayAsk(rules, "delete", "/x"));
  EXPECT_FALSE(MayAsk(rules, "GET", "/x", false, true));
  EXPECT_TRUE(MayAsk(rules, "GET", "/administrator"));
  EXPECT_TRUE(MayAsk({Allow("a.example")}, "GET", "/x", false, true));
}

TEST(DecideRequest, AGrantCoversItsOwnSpelling) {
  const std::vector<Rule> rules = {Allow("https://a.example/v1")};
  EXPECT_TRUE(MayAsk(rules, "GET", "/v%31/x"));
  EXPECT_FALSE(MayAsk(rules, "GET", "/V1/x"));
  EXPECT_FALSE(MayAsk(rules, "GET", "/v1/x", false, true));
}

TEST(DecideRequest, WhereASecretGoesNothingPassesUnread) {
  Rule carries = Allow("POST https://api.example.com/v1");
  carries.secret = SecretUse{.name = "token", .placeholder = "cloche-secret-0001", .header = true};
  const std::vector<Rule> rules = {Allow("api.example.com:443"), carries,
                                   Allow("other.example.com:443")};
  const Target api = Named("api.example.com", 443);
  EXPECT_TRUE(DecideConnection(rules, api, kNow).must_read_requests);
  EXPECT_FALSE(DecideConnection(rules, Named("other.example.com", 443), kNow).must_read_requests);
  const auto within = DecideRequest(rules, api, Kind::kHttps, {"POST", "/v1/x"}, kNow);
  EXPECT_EQ(within.secrets.size(), 1u);
  const auto beside = DecideRequest(rules, api, Kind::kHttps, {"GET", "/notes"}, kNow);
  EXPECT_TRUE(beside.allowed);
  EXPECT_TRUE(beside.secrets.empty());
}

TEST(Decide, DenialsSayHowToGrant) {
  EXPECT_EQ(DenialText(Named("api.example.com", 443), "sb_x"),
            "api.example.com:443 is not granted to sb_x; grant it with: cloche net sb_x allow "
            "api.example.com:443");
}

}  // namespace
}  // namespace cloche::egress
