#include "policy/network_request.h"

#include <gtest/gtest.h>

#include "policy/network_presets.h"
#include "policy/request.h"

namespace cloche {
namespace {

using nlohmann::json;

json Allow(const char* rule) { return {{"action", "allow"}, {"rule", rule}}; }

TEST(NetworkPresets, ARuleForLoopbackHasOneForTheMachine) {
  EXPECT_EQ(RuleForThisMachine("http://localhost:3000"), "http://host.cloche:3000");
  EXPECT_EQ(RuleForThisMachine("GET http://127.0.0.1:80/v1"), "GET http://host.cloche:80/v1");
  EXPECT_EQ(RuleForThisMachine("tcp://[::1]:5432"), "tcp://host.cloche:5432");
  EXPECT_EQ(RuleForThisMachine("https://LocalHost"), "https://host.cloche");
  EXPECT_EQ(RuleForThisMachine("https://example.com"), "");
  EXPECT_EQ(RuleForThisMachine("http://host.cloche:3000"), "");
  EXPECT_EQ(RuleForThisMachine("http://["), "");
  EXPECT_EQ(RuleForThisMachine("tcp://0.0.0.0/0:443"), "");
}

TEST(NetworkRequest, NothingIsGrantedUnlessAsked) {
  const auto request = ParseSandboxRequest(json::object());
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->network.rules.empty());
  EXPECT_FALSE(request->network.proxy_env);
}

TEST(NetworkRequest, APresetIsItsRules) {
  for (const NetworkPreset& preset : NetworkPresets()) {
    const std::string name = "@" + std::string(preset.name);
    const auto request =
        ParseSandboxRequest({{"network", {{"rules", {Allow(name.c_str()), Allow("z.example")}}}}});
    ASSERT_TRUE(request) << name;
    const auto& rules = request->network.rules;
    ASSERT_EQ(rules.size(), preset.rules.size() + 1) << name;
    EXPECT_EQ(rules[0].text, preset.rules[0]);
    EXPECT_EQ(rules.back().text, "z.example");
    const auto change = ParseNetworkChange(
        {{"add", {{{"rule", name}, {"for", 60}}}}, {"remove", {name, "r7"}}}, 1000);
    ASSERT_TRUE(change) << name;
    EXPECT_EQ(change->add[0].expires, 1060);
    EXPECT_EQ(change->remove.size(), preset.rules.size() + 1);
    EXPECT_FALSE(IsAnyHostRule(preset.rules[0]));
  }
  const auto unknown = ParseSandboxRequest({{"network", {{"rules", {Allow("@nowhere")}}}}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().cure.find("@npm"), std::string::npos) << unknown.error().cure;
  for (const char* any : {"*", "*:443", "https://*", "GET https://*/x"})
    EXPECT_TRUE(IsAnyHostRule(any)) << any;
  EXPECT_FALSE(IsAnyHostRule("*.example.com"));
  for (const char* any : {"*.com", "*.com:443", "https://*.io/path", "GET https://*.dev"})
    EXPECT_TRUE(IsAnyHostRule(any)) << any;
  EXPECT_FALSE(IsAnyHostRule("https://*.example.com/a.b"));
  for (const char* own : {"http://*.localhost:8080", "*.internal", "https://*.test/x"})
    EXPECT_FALSE(IsAnyHostRule(own)) << own;
}

TEST(NetworkRequest, ARangeThatIsMuchOfTheInternetIsEveryHost) {
  for (const char* wide : {"tcp://0.0.0.0/0:443", "tcp://128.0.0.0/1:22", "0.0.0.0/0", "3.0.0.0/8",
                           "GET http://64.0.0.0/2/v1", "tcp://[::/0]:443", "[2000::/3]:443"})
    EXPECT_TRUE(IsAnyHostRule(wide)) << wide;
  for (const char* narrow :
       {"tcp://10.0.0.0/8:5432", "tcp://127.0.0.0/8:80", "1.2.0.0/16", "tcp://1.1.1.1:53",
        "[fc00::/7]:443", "[2606:4700::/32]:443", "a.example=0.0.0.0/0", "tcp://a.example:1-65535"})
    EXPECT_FALSE(IsAnyHostRule(narrow)) << narrow;
}

TEST(NetworkRequest, IsTheSameAfterTheRegistry) {
  const json body = {{"network",
                      {{"rules", {Allow("a.example:443"), {{"action", "deny"}, {"rule", "b:1"}}}},
                       {"proxy_env", true},
                       {"limits", {{"connections", 5}}}}}};
  auto request = ParseSandboxRequest(body);
  ASSERT_TRUE(request);
  NumberRules(request->network);
  EXPECT_EQ(request->network.rules[1].id, "r2");
  const auto again = ParseSandboxRequest({{"network", NetworkToJson(request->network)}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->network, request->network);
}

TEST(NetworkRequest, SecretsAreTheSameAfterTheRegistry) {
  const json body = {{"network",
                      {{"rules", json::array({{{"rule", "a.example:443"}, {"secret", "github"}}})},
                       {"secrets", json::array({{{"name", "github"},
                                                 {"variable", "GITHUB_TOKEN"},
                                                 {"id", "i"},
                                                 {"placeholder", "ghp_clochexyz"}}})}}}};
  const auto request = ParseSandboxRequest(body);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->network.rules[0].secret, "github");
  EXPECT_EQ(request->network.secrets[0].placeholder, "ghp_clochexyz");
  const auto again = ParseSandboxRequest({{"network", NetworkToJson(request->network)}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->network.secrets, request->network.secrets);
}

TEST(NetworkRequest, AChangeBringsNoPlaceholderOfItsOwn) {
  const auto change = ParseNetworkChange(
      {{"secrets", json::array({{{"name", "github"}, {"id", "i"}, {"placeholder", "mine"}}})}}, 1);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->secrets[0].placeholder + change->secrets[0].id, "");
}

TEST(NetworkRequest, MistakesAboutSecretsAreRefused) {
  for (const json& network :
       {json{{"secrets", "github"}}, json{{"secrets", json::array({{{"name", "a b"}}})}},
        json{{"secrets", json::array({{{"name", "a"}, {"variable", "LD_PRELOAD"}}})}},
        json{{"secrets", json::array({{{"name", "a"}}, {{"name", "a"}}})}},
        json{{"secrets", json::array({{{"name", "a"}, {"value", "v"}}})}},
        json{{"rules", json::array({{{"rule", "a:1"}, {"action", "deny"}, {"secret", "a"}}})}}})
    EXPECT_FALSE(ParseSandboxRequest({{"network", network}})) << network;
}

TEST(NetworkRequest, MistakesAreRefused) {
  for (const json& network :
       {json{{"rules", "a:1"}}, json{{"rules", {{{"action", "maybe"}, {"rule", "a:1"}}}}},
        json{{"rules", {{{"action", "allow"}}}}}, json{{"rules", {Allow("a\nb")}}},
        json{{"rules", {{{"rule", "a:1"}, {"for", 5}}}}}, json{{"limits", {{"connections", 0}}}},
        json{{"limits", {{"weight", 1}}}}, json{{"unknown", 1}}})
    EXPECT_FALSE(ParseSandboxRequest({{"network", network}})) << network;
}

TEST(NetworkRequest, IdsOfRemovedRulesAreNotUsedAgainWhileLaterOnesLive) {
  NetworkRequest network;
  network.rules = {{.id = "r7", .text = "a:1"}, {.text = "b:1"}};
  NumberRules(network);
  EXPECT_EQ(network.rules[0].id, "r7");
  EXPECT_EQ(network.rules[1].id, "r8");
}

TEST(NetworkChange, ATimeCountsFromNow) {
  const auto change = ParseNetworkChange({{"add", {{{"rule", "a:1"}, {"for", 600}}}}}, 1000);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->add[0].expires, 1600);
  EXPECT_FALSE(ParseNetworkChange(json::object(), 1000));
  EXPECT_FALSE(ParseNetworkChange({{"add", {{{"rule", "a:1"}, {"id", "r1"}}}}}, 1000));
}

}  // namespace
}  // namespace cloche
