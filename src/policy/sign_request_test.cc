#include "policy/sign_request.h"

#include <gtest/gtest.h>

#include "policy/request.h"

namespace cloche {
namespace {

using nlohmann::json;

const std::string kHost = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

TEST(SignRequest, TextNamesAKeyAndItsUse) {
  EXPECT_EQ(ParseSigningKeyText("anna@home")->use, "any");
  EXPECT_EQ(ParseSigningKeyText("anna@home:git")->name, "anna@home");
  EXPECT_EQ(ParseSigningKeyText("anna@home:git")->use, "git");
  EXPECT_EQ(ParseSigningKeyText(kHost)->name, kHost);
  EXPECT_EQ(ParseSigningKeyText(kHost + ":ssh")->name, kHost);
  const auto one = ParseSigningKeyText("deploy:ssh=" + kHost);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->name, "deploy");
  EXPECT_EQ(one->host, kHost);
  EXPECT_FALSE(ParseSigningKeyText("deploy:ssh=example.com"));
  EXPECT_FALSE(ParseSigningKeyText(":git"));
  EXPECT_FALSE(ParseSigningKeyText(""));
}

TEST(SignRequest, SurvivesAsJson) {
  const json body = {
      {"sign",
       {{"agent", "/tmp/agent"},
        {"keys", json::array({{{"name", "deploy"}, {"use", "ssh"}, {"host", kHost}}})},
        {"per_minute", 3}}}};
  const auto request = ParseSandboxRequest(body);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->signing.per_minute, 3u);
  const auto again = ParseSandboxRequest({{"sign", SigningToJson(request->signing)}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->signing, request->signing);
}

TEST(SignRequest, RefusesInvalidRequests) {
  const auto refused = [](json sign) {
    return !ParseSandboxRequest({{"sign", std::move(sign)}}).has_value();
  };
  const json key = {{"name", "deploy"}};
  EXPECT_FALSE(refused({{"agent", "/a"}, {"keys", json::array({key})}}));
  EXPECT_TRUE(refused({{"keys", json::array({key})}}));
  EXPECT_TRUE(refused({{"agent", "a"}, {"keys", json::array({key})}}));
  EXPECT_TRUE(refused({{"agent", "/" + std::string(200, 'a')}}));
  EXPECT_TRUE(refused({{"agent", "/a"}, {"per_minute", 0}}));
  EXPECT_TRUE(refused({{"agent", "/a"}, {"keys", json::array({{{"name", "x"}, {"use", "all"}}})}}));
  EXPECT_TRUE(refused({{"agent", "/a"},
                       {"keys", json::array({{{"name", "x"}, {"use", "git"}, {"host", kHost}}})}}));
}

TEST(SignRequest, ChangesOneThingAtATime) {
  const json key = {{"name", "deploy"}};
  EXPECT_TRUE(ParseSigningChange({{"add", json::array({key})}}));
  EXPECT_TRUE(ParseSigningChange({{"remove", json::array({"deploy"})}}));
  EXPECT_FALSE(ParseSigningChange(json::object()));
  EXPECT_FALSE(
      ParseSigningChange({{"add", json::array({key})}, {"remove", json::array({"work"})}}));
}

}  // namespace
}  // namespace cloche
