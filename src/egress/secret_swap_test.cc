#include "egress/secret_swap.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(PutSecretsInJson(R"({"k":"cloche-secret-0001"})", kSecrets), R"({"k":"va\"lue/1"})");
}

TEST(SecretSwap, EachPlaceIsEncodedInItsWay) {
  auto head = ParseRequestHead(
      "GET /cloche-secret-0001?k=cloche-secret-0001 HTTP/1.1\r\nX: a cloche-secret-0001\r\n"
      "Authorization: basic " +
      EncodeBase64("u:cloche-secret-0001") + "\r\n\r\n");
  ASSERT_TRUE(head);
  PutSecretsIn(*head, kSecrets);
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

}  // namespace
}  // namespace cloche::egress
