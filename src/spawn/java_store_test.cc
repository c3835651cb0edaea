#include "spawn/java_store.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace cloche::spawn {
namespace {

std::string Hex(const auto& bytes) {
  std::string hex;
  for (const auto byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return hex;
}

std::string Pem(const std::string& body) {
  return "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n";
}

TEST(JavaStore, ChecksumIsThatOfTheStandard) {
  EXPECT_EQ(Hex(Sha1("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(Hex(Sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(Hex(Sha1(std::string(1'000'000, 'a'))), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  // Lengths around the end of a block.
  EXPECT_EQ(Hex(Sha1(std::string(55, 'a'))), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  EXPECT_EQ(Hex(Sha1(std::string(56, 'a'))), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  EXPECT_EQ(Hex(Sha1(std::string(64, 'a'))), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

// What keytool and Java themselves make of it: scenario.tls_rules.
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
  EXPECT_EQ(JavaTrustStore("", 0).size(), 12u + 20u);
  EXPECT_EQ(JavaTrustStore("-----BEGIN CERTIFICATE-----\naGVsbG8=", 0).size(), 12u + 20u);
}

}  // namespace
}  // namespace cloche::spawn
