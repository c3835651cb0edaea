#include "sign/grants.h"

#include <gtest/gtest.h>

namespace cloche::sign {
namespace {

const std::vector<Identity> kIdentities = {{"one", "deploy"}, {"two", "work"}, {"three", "work"}};

std::string Login(std::string_view key, std::string_view host_key = "") {
  std::string data = Framed("session") + '\x32' + Framed("root") + Framed("ssh-connection");
  data += Framed(host_key.empty() ? "publickey" : "publickey-hostbound-v00@openssh.com");
  data += '\x01' + Framed("ssh-ed25519") + Framed(key);
  if (!host_key.empty()) data += Framed(host_key);
  return data;
}

std::string File(std::string_view name_space) {
  return "SSHSIG" + Framed(name_space) + Framed("") + Framed("sha512") +
         Framed(std::string(64, 'h'));
}

std::vector<Grant> Granted(Grant grant) {
  std::vector<Grant> grants = {std::move(grant)};
  EXPECT_TRUE(Resolve(grants, kIdentities));
  return grants;
}

std::string Refusal(std::string_view key, const std::string& data, const std::vector<Grant>& grants,
                    const BoundSession& bound = {}) {
  return Judge({key, data, 0}, grants, bound).refusal;
}

TEST(Grants, FingerprintIsOpenSshs) {
  EXPECT_EQ(FingerprintOf(""), "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU");
}

TEST(Grants, NameMustMeanOneKey) {
  std::vector<Grant> grants = {{.name = "deploy"}};
  ASSERT_TRUE(Resolve(grants, kIdentities));
  EXPECT_EQ(grants[0].fingerprint, FingerprintOf("one"));
  grants = {{.name = FingerprintOf("three")}};
  ASSERT_TRUE(Resolve(grants, kIdentities));
  EXPECT_EQ(grants[0].comment, "work");
  grants = {{.name = "work"}};
  EXPECT_FALSE(Resolve(grants, kIdentities));
  grants = {{.name = "dep"}};
  EXPECT_FALSE(Resolve(grants, kIdentities));
}

TEST(Grants, OnlyGrantedKeysAreListed) {
  const auto listed = GrantedOf(kIdentities, Granted({.name = "deploy"}));
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].blob, "one");
  EXPECT_TRUE(GrantedOf(kIdentities, {}).empty());
}

TEST(Grants, AnotherKeyIsRefused) {
  const auto grants = Granted({.name = "deploy"});
  EXPECT_EQ(Refusal("one", Login("one"), grants), "");
  EXPECT_EQ(Refusal("two", Login("two"), grants), "this key is not granted");
  EXPECT_EQ(Refusal("one", Login("one"), {}), "this key is not granted");
}

TEST(Grants, UnresolvedGrantIsNone) {
  EXPECT_NE(Refusal("one", Login("one"), {{.name = "deploy"}}), "");
}

TEST(Grants, HoldOnlyForTheGrantedUse) {
  const auto git = Granted({.name = "deploy", .login = false});
  EXPECT_EQ(Refusal("one", File("git"), git), "");
  EXPECT_EQ(Refusal("one", Login("one"), git), "this key is not granted for logins");
  const auto ssh = Granted({.name = "deploy", .git = false});
  EXPECT_EQ(Refusal("one", Login("one"), ssh), "");
  EXPECT_EQ(Refusal("one", File("git"), ssh), "this key is not granted for commits");
}

TEST(Grants, NothingElseIsSigned) {
  const auto any = Granted({.name = "deploy"});
  EXPECT_NE(Refusal("one", File("file"), any), "");
  EXPECT_NE(Refusal("one", "a certificate for everybody", any), "");
  EXPECT_NE(Refusal("one", "", any), "");
}

TEST(Grants, OfOneHostAreForNoOther) {
  const auto grants =
      Granted({.name = "deploy", .git = false, .host = FingerprintOf("granted host")});
  EXPECT_EQ(Refusal("one", Login("one", "granted host"), grants), "");
  EXPECT_NE(Refusal("one", Login("one", "other host"), grants), "");
  // Without the host in what is signed, the session that the agent has checked tells.
  EXPECT_NE(Refusal("one", Login("one"), grants), "");
  EXPECT_EQ(Refusal("one", Login("one"), grants, {"session", "granted host"}), "");
  EXPECT_NE(Refusal("one", Login("one"), grants, {"another", "granted host"}), "");
  EXPECT_NE(Refusal("one", Login("one"), grants, {"session", "other host"}), "");
}

TEST(Grants, VerdictDescribesWhatWasSigned) {
  const Verdict verdict = Judge({"one", Login("one", "host"), 0}, Granted({.name = "deploy"}), {});
  EXPECT_EQ(verdict.use, "ssh");
  EXPECT_EQ(verdict.user, "root");
  EXPECT_EQ(verdict.host, FingerprintOf("host"));
  EXPECT_EQ(verdict.comment, "deploy");
}

TEST(Grants, SurviveAsJson) {
  const Grant grant = {.name = "deploy",
                       .fingerprint = FingerprintOf("one"),
                       .comment = "deploy",
                       .git = false,
                       .host = FingerprintOf("host")};
  const auto again = GrantFromJson(ToJson(grant));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, grant);
  EXPECT_FALSE(GrantFromJson({{"name", "x"}, {"use", "all"}}));
}

}  // namespace
}  // namespace cloche::sign
