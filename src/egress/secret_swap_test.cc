#include "egress/secret_swap.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>

namespace cloche::egress {
namespace {

const std::vector<SecretInUse> kSecrets = {{{.name = "N",
                                             .placeholder = "cloche-secret-0001",
                                             .header = true,
                                             .basic = true,
                                             .query = true,
                                             .json = true},
                                            "va\"lue/1"}};

TEST(SecretSwap, Base64GoesThereAndBack) {
  for (const char* text : {"", "a", "ab", "abc", "abcd", "user:pass"}) {
    std::string back;
    ASSERT_TRUE(DecodeBase64(EncodeBase64(text), back));
    EXPECT_EQ(back, text);
  }
  EXPECT_EQ(EncodeBase64("ab"), "YWI=");
  std::string back;
  EXPECT_FALSE(DecodeBase64("a b", back));
}

TEST(SecretSwap, JsonTextsStayTexts) {
  std::vector<SecretInUse> secrets = kSecrets;
  EXPECT_EQ(PutSecretsInJson(R"({"k":"cloche-secret-0001"})", secrets), R"({"k":"va\"lue/1"})");
}

TEST(SecretSwap, EachPlaceIsEncodedInItsWay) {
  auto head = ParseRequestHead(
      "GET /cloche-secret-0001?k=cloche-secret-0001 HTTP/1.1\r\nX: a cloche-secret-0001\r\n"
      "Authorization: basic " +
      EncodeBase64("u:cloche-secret-0001") + "\r\n\r\n");
  ASSERT_TRUE(head);
  std::vector<SecretInUse> secrets = kSecrets;
  PutSecretsIn(*head, secrets);
  EXPECT_EQ(head->path, "/cloche-secret-0001?k=va%22lue%2F1");
  EXPECT_EQ(*head->Find("X"), "a va\"lue/1");
  EXPECT_EQ(*head->Find("Authorization"), "Basic " + EncodeBase64("u:va\"lue/1"));
}

TEST(Masker, FindsValuesInAnyPieces) {
  const std::string value = "va\"lue/1";
  const std::string text =
      "<" + value + value + ">va\"lue va%22lue%2F1 " + EncodeBase64(value) + ".";
  std::string want;
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    Masker masker(kSecrets);
    std::string got;
    for (size_t at = 0; at < text.size(); at += piece) got += masker.Feed(text.substr(at, piece));
    got += masker.End();
    EXPECT_EQ(got, "<" + std::string(16, '*') + ">va\"lue " + std::string(12, '*') + " " +
                       std::string(12, '*') + ".");
  }
}

std::string Masked(std::string_view text, const std::vector<SecretInUse>& secrets) {
  Masker masker(secrets);
  std::string got;
  for (const char c : text) got += masker.Feed(std::string_view(&c, 1));
  return got + masker.End();
}

TEST(Masker, FindsValuesInBase64WhereverTheyBegin) {
  const std::vector<SecretInUse> secrets = {{{.name = "N"}, "ghp_0123456789abcdefghijklmnop"}};
  for (const std::string before : {"", "u", "us", "user:", "x-access-token:"}) {
    for (const std::string after : {"", "!", " and more"}) {
      const std::string got = Masked(EncodeBase64(before + secrets[0].value + after), secrets);
      std::string back;
      EXPECT_FALSE(DecodeBase64(got, back));
      // What is left of the first and the last digit is less than a byte.
      EXPECT_GE(std::count(got.begin(), got.end(), '*'), 38) << got;
    }
  }
}

TEST(Masker, FindsValuesInHexAndEscaped) {
  const std::vector<SecretInUse> secrets = {{{.name = "N"}, "a/b+c=secret"}};
  for (const char* text : {"612f622b633d736563726574", "612F622B633D736563726574", "a\\/b+c=secret",
                           "a%2fb%2bc%3dsecret", "a%2Fb%2Bc%3Dsecret"})
    EXPECT_EQ(Masked(text, secrets), std::string(strlen(text), '*')) << text;
}

TEST(Masker, OneValueInAnotherLeavesNoRest) {
  const std::vector<SecretInUse> secrets = {{{.name = "A"}, "abcdefgh"},
                                            {{.name = "B"}, "abcdefghXYZ12345"},
                                            {{.name = "C"}, "12345-overlaps"}};
  EXPECT_EQ(Masked("<abcdefghXYZ12345>", secrets), "<" + std::string(16, '*') + ">");
  EXPECT_EQ(Masked("<abcdefghXYZ12345-overlaps>", secrets), "<" + std::string(25, '*') + ">");
  EXPECT_EQ(Masked("<abcdefghXYZ1234>", secrets), "<" + std::string(8, '*') + "XYZ1234>");
}

TEST(SecretSwap, SaysWhatItPutIn) {
  std::vector<SecretInUse> secrets = kSecrets;
  auto head = ParseRequestHead("GET / HTTP/1.1\r\nHost: cloche-secret-0001\r\n\r\n");
  ASSERT_TRUE(head);
  PutSecretsIn(*head, secrets);
  EXPECT_EQ(*head->Find("Host"), "cloche-secret-0001");
  EXPECT_FALSE(secrets[0].put_in);
  head->headers.push_back({"X-Key", "cloche-secret-0001"});
  PutSecretsIn(*head, secrets);
  EXPECT_TRUE(secrets[0].put_in);
}

}  // namespace
}  // namespace cloche::egress
