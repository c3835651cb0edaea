#include "policy/secret_request.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

using nlohmann::json;

TEST(SecretRequest, SaysWhereTheValueMayGoAndLeavesNoneBehind) {
  json body = {{"value", "the-real-value"}, {"hosts", json::array({"api.example.com"})}};
  const auto request = ParseSecretRequest(body);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->value, "the-real-value");
  EXPECT_EQ(request->where, (std::vector<std::string>{"basic", "header"}));
  EXPECT_EQ(body.dump().find("real"), std::string::npos);
}

TEST(SecretRequest, MistakesAreRefusedAndNeverRepeatTheValue) {
  const json good = {{"value", "the-real-value"}, {"hosts", json::array({"api.example.com"})}};
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, json>>{{"hosts", json::array()},
                                                 {"where", json::array({"path"})},
                                                 {"variable", "LD_PRELOAD"},
                                                 {"variable", "1A"},
                                                 {"variable", "CLOCHE_X"},
                                                 {"like", "a b"},
                                                 {"value", 7},
                                                 {"more", 1}}) {
    json body = good;
    body[key] = value;
    const auto request = ParseSecretRequest(body);
    ASSERT_FALSE(request) << key;
    EXPECT_EQ((request.error().message + request.error().cure).find("real"), std::string::npos);
  }
  json body = {{"hosts", json::array({"a.b"})}};
  EXPECT_FALSE(ParseSecretRequest(body));
}

TEST(SecretRequest, NamesBecomeVariables) {
  EXPECT_EQ(VariableOf("github-token"), "GITHUB_TOKEN");
  EXPECT_EQ(VariableOf("npm.mine"), "NPM_MINE");
  EXPECT_EQ(VariableOf("2fa"), "_2FA");
  EXPECT_TRUE(IsValidSecretName("GITHUB_TOKEN"));
  for (const char* name : {"", "-x", "a b", "a/b", "a\n", ".x"})
    EXPECT_FALSE(IsValidSecretName(name)) << name;
}

}  // namespace
}  // namespace cloche
