#include "daemon/host_ca.h"

#include <gtest/gtest.h>

namespace cloche::daemon {
namespace {

std::string One(char filling, size_t size) {
  return "-----BEGIN CERTIFICATE-----\n" + std::string(size, filling) +
         "\n-----END CERTIFICATE-----";
}

TEST(HostCas, PartsContainOnlyCertificates) {
  const std::string text =
      "# a\n" + One('a', 60) + "\n# b\n" + One('b', 60) + "\nkey\n" + One('c', 60) + "\n-----BEGIN";
  const auto parts = CertificatesInParts(text, 250);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0], One('a', 60) + "\n" + One('b', 60) + "\n");
  EXPECT_EQ(parts[1], One('c', 60) + "\n");
}

TEST(HostCas, ATooLargeCertificateIsLeftOutAndNoCertificatesAreOnePart) {
  EXPECT_EQ(CertificatesInParts(One('a', 500) + One('b', 10), 250),
            std::vector<std::string>{One('b', 10) + "\n"});
  EXPECT_EQ(CertificatesInParts("", 250), std::vector<std::string>{""});
}

}  // namespace
}  // namespace cloche::daemon
