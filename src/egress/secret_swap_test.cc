#include "egress/secret_swap.h"

#include <gtest/gtest.h>

#include "egress/redactor.h"

namespace cloche::egress {
namespace {

const std::vector<SecretInUse> kSecrets = {{{.name = "N",
                                             .placeholder = "cloche-secret-0001",
                                             .header = true,
                                             .basic = true,
                                             .query = true,
                                             .json = true},
                                            "va\"lue/1"}};

TEST(SecretSwap, JsonTextsStayTexts) {
  std::vector<SecretInUse> secrets = kSecrets;
  std::string body = R"({"k":"cloche-secret-0001"})";
  EXPECT_TRUE(PutSecretsInJson(body, secrets));
  EXPECT_EQ(body, R"({"k":"va\"lue/1"})");
}

TEST(SecretSwap, EachPlaceIsEncodedInItsWay) {
  auto head = ParseRequestHead(
      "GET /cloche-secret-0001?k=cloche-secret-0001 HTTP/1.1\r\nX: a cloche-secret-0001\r\n"
      "Authorization: basic " +
      EncodeBase64("u:cloche-secret-0001") + "\r\n\r\n");
  ASSERT_TRUE(head);
  std::vector<SecretInUse> secrets = kSecrets;
  EXPECT_TRUE(PutSecretsIn(*head, secrets));
  EXPECT_EQ(head->path, "/cloche-secret-0001?k=va%22lue%2F1");
  EXPECT_EQ(*head->Find("X"), "a va\"lue/1");
  EXPECT_EQ(*head->Find("Authorization"), "Basic " + EncodeBase64("u:va\"lue/1"));
}

TEST(SecretSwap, ReportsTheSecretsItPutIn) {
  std::vector<SecretInUse> secrets = kSecrets;
  auto head = ParseRequestHead("GET / HTTP/1.1\r\nHost: cloche-secret-0001\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_TRUE(PutSecretsIn(*head, secrets));
  EXPECT_EQ(*head->Find("Host"), "cloche-secret-0001");
  EXPECT_FALSE(secrets[0].put_in);
  head->headers.push_back({"X-Key", "cloche-secret-0001"});
  EXPECT_TRUE(PutSecretsIn(*head, secrets));
  EXPECT_TRUE(secrets[0].put_in);
}

TEST(SecretSwap, ALongValueThatStandsThereOftenHasAnEnd) {
  std::vector<SecretInUse> secrets = kSecrets;
  secrets[0].value = std::string(8192, 'v');
  std::string body;
  while (body.size() < 100'000) body += secrets[0].use.placeholder;
  const std::string before = body;
  EXPECT_FALSE(PutSecretsInJson(body, secrets));
  EXPECT_EQ(body, before);
  std::string often;
  for (int i = 0; i < 20; ++i) often += secrets[0].use.placeholder + ",";
  for (const std::string& line : {"X: " + often, "Authorization: Basic " + EncodeBase64(often)}) {
    auto head = ParseRequestHead("GET / HTTP/1.1\r\n" + line + "\r\n\r\n");
    ASSERT_TRUE(head);
    EXPECT_FALSE(PutSecretsIn(*head, secrets)) << line.substr(0, 30);
  }
  auto head = ParseRequestHead("GET /?" + often + " HTTP/1.1\r\nX: y\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_FALSE(PutSecretsIn(*head, secrets));
  head = ParseRequestHead("GET / HTTP/1.1\r\nX: cloche-secret-0001\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_TRUE(PutSecretsIn(*head, secrets));
}

}  // namespace
}  // namespace cloche::egress
