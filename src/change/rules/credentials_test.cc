#include "change/rules/credentials.h"

#include <gtest/gtest.h>

namespace cloche::rules {
namespace {

// Assembled here, so that no scanner finds them in this file.
const std::string kDrawn = "q7Zt2Lw9Xc4Vb8Nm1Kj6Hg3Fd5Sa0PoIuYtReWqLkJh";
std::string Token(const std::string& prefix, size_t rest) {
  return prefix + kDrawn.substr(0, rest);
}

std::vector<Credential> In(std::string_view text, std::string_view path = "/p/a.py") {
  return FindCredentials(path, std::nullopt, text);
}

TEST(Credentials, EachKindIsFoundAndMasked) {
  const std::string capitals = "Q7ZT2LW9XC4VB8NM";
  const std::string jwt = std::string("eyJ") + "hbGciOiJIUzI1NiJ9" + ".eyJ" + kDrawn + "." + kDrawn;
  const std::pair<std::string, std::string_view> cases[] = {
      {std::string("AKI") + "A" + capitals, "AWS access key"},
      {Token("ghp_", 36), "GitHub token"},
      {Token("github_pat_", 43), "GitHub token"},
      {Token("glpat-", 20), "GitLab token"},
      {Token("xoxb-", 24), "Slack token"},
      {Token("sk_live_", 24), "Stripe key"},
      {Token("sk-", 40), "OpenAI key"},
      {Token("sk-proj-", 42), "OpenAI key"},
      {Token("sk-ant-", 42), "Anthropic key"},
      {Token("npm_", 36), "npm token"},
      {Token("pypi-AgE", 43) + kDrawn, "PyPI token"},
      {Token("AIza", 35), "Google API key"},
      {jwt, "JSON web token"},
  };
  for (const auto& [token, kind] : cases) {
    const auto found = In("first\nx = call(\"" + token + "\")\n");
    ASSERT_EQ(found.size(), 1u) << kind;
    EXPECT_EQ(found[0].kind, kind);
    EXPECT_EQ(found[0].line, 2u);
    EXPECT_EQ(found[0].masked, token.substr(0, 4) + "........");
  }
}

TEST(Credentials, AreFoundInUtf16) {
  std::string wide = "\xff\xfe";
  for (const char c : "a\nx = " + Token("ghp_", 36) + "\n") wide.append({c, '\0'});
  const auto found = In(wide);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].line, 2u);
}

TEST(Credentials, PrivateKeysCountOnlyWithKeyMaterial) {
  const std::string header = std::string("-----BEGIN RSA PRIVATE") + " KEY-----\n";
  const auto found = In(header + kDrawn + kDrawn + "\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "private key");
  EXPECT_TRUE(In("if text.startswith('" + header + "')").empty());
  const auto google = In("{\"type\": \"service_account\", \"private_key\": \"" +
                         header.substr(0, header.size() - 1) + "\\n" + kDrawn + "\"}");
  ASSERT_EQ(google.size(), 1u);
  EXPECT_EQ(google[0].kind, "Google service-account key");
}

TEST(Credentials, PasswordsInUrlsAreFound) {
  EXPECT_EQ(In("db = 'postgres://app:h7Gf2kQz@db.prod.acme.io/x'").size(), 1u);
  EXPECT_EQ(In("db = 'postgres://app:h7Gf2kQz@db.prod.acme.io/x'")[0].masked, "h7........");
  for (const char* calm :
       {"postgres://postgres:postgres@localhost/x", "http://user:password@example.com",
        "redis://:${PASSWORD}@cache.acme.io", "https://host.acme.io:8080/@scope/a",
        "amqp://guest:guest@rabbit:5672", "git@github.com:a/b.git"})
    EXPECT_TRUE(In(calm).empty()) << calm;
}

TEST(Credentials, RandomValuesOfSecretNamesAreFound) {
  const std::string value = kDrawn.substr(0, 32);
  EXPECT_EQ(In("api_key = \"" + value + "\"").size(), 1u);
  EXPECT_EQ(In("const clientSecret = '" + value + "';").size(), 1u);
  EXPECT_EQ(In("{\"password\": \"" + value + "\"}").size(), 1u);
  EXPECT_EQ(In("AWS_SECRET_ACCESS_KEY=" + value, "/p/.env").size(), 1u);
  EXPECT_EQ(In("  token: " + value, "/p/a.yaml").size(), 1u);
  // Elsewhere an unquoted word is a variable.
  EXPECT_TRUE(In("token = " + value).empty());
}

TEST(Credentials, EverydayLinesAreNotCredentials) {
  for (const char* line :
       {"token = get_token()", "password = os.environ['PASSWORD']", "key: ${{ hashFiles('a') }}",
        "cache_key = \"build-linux-2024-01-31-v17\"", "API_KEY=your-api-key-goes-here-1234",
        "secret: \"${SECRET}\"", "\"integrity\": \"sha512-Q7Zt2Lw9Xc4Vb8Nm1Kj6Hg3Fd5Sa0PoIu\"",
        "password = \"hunter2\"", "SECRET_KEY = 'changeme-changeme-12345'",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "<div class=\"sk-folding-cube-1234567\">",
        "public_key = \"Q7Zt2Lw9Xc4Vb8Nm1Kj6Hg3Fd5Sa0PoIu\"",
        "key = \"7f3b5c1e-8a2d-4c6f-9b0e-1d2c3b4a5f6e\"", "npm_config_cache=/h/u/.npm/_cacache_1",
        "uses: actions/checkout@3df4ab11eba7bda6032a0b82a6bb43b11571feac", "AKIAIOSFODNN7EXAMPLE",
        "primary_key = 'order_items_2024_partition_07'",
        "password_path = \"/etc/secrets/prod/database/password-2024\""})
    EXPECT_TRUE(In(line, "/p/a.yaml").empty()) << line;
}

TEST(Credentials, OnlyAddedLinesCount) {
  const std::string line = "x = '" + Token("ghp_", 36) + "'\n";
  EXPECT_TRUE(FindCredentials("/p/a", line, "a\n" + line + "b\n").empty());
  EXPECT_EQ(FindCredentials("/p/a", "", "a\n" + line).size(), 1u);
}

TEST(Credentials, BinaryContentIsIgnoredAndFindingsAreBounded) {
  EXPECT_TRUE(In(std::string(1, '\0') + Token("ghp_", 36)).empty());
  std::string many;
  for (int i = 0; i < 500; ++i) many += "x" + std::to_string(i) + " '" + Token("ghp_", 36) + "'\n";
  EXPECT_EQ(In(many).size(), kMaxCredentials);
}

}  // namespace
}  // namespace cloche::rules
