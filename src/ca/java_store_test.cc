#include "ca/java_store.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace cloche::ca {
namespace {

std::string Hex(const auto& bytes) {
  std::string hex;
  for (const auto byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return hex;
}

std::string Pem(const std::string& body) {
  return "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n";
}

// scenario.tls_rules checks that keytool and Java can read it.
TEST(JavaStore, HoldsEveryCertificateAndNothingElse) {
  const std::string store =
      JavaTrustStore("words\n" + Pem("aGVsbG8=") + Pem("no base64!") + Pem("d29ybGQh"), 1);
  EXPECT_EQ(Hex(store.substr(0, 12)), "feedfeed0000000200000002");
  EXPECT_EQ(Hex(store.substr(12, 14)),
            "00000002"
            "0008" +
                Hex(std::string("cloche-1")));
  EXPECT_NE(store.find("hello"), store.npos);
  EXPECT_NE(store.find("world!"), store.npos);
  EXPECT_EQ(store.find("words"), store.npos);
}

TEST(JavaStore, OfNothingIsAnEmptyStore) {
  EXPECT_EQ(Hex(JavaTrustStore("", 0)),
            "feedfeed0000000200000000"
            "e2686e45fb43dfa4d992dd41ceb6b21c6330d792");
  EXPECT_EQ(JavaTrustStore("-----BEGIN CERTIFICATE-----\naGVsbG8=", 0).size(), 12u + 20u);
}

}  // namespace
}  // namespace cloche::ca
