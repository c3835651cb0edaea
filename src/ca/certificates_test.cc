#include "ca/certificates.h"

#include <gtest/gtest.h>

namespace cloche::ca {
namespace {

const std::string kFirst = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
const std::string kSecond = "-----BEGIN CERTIFICATE-----\nd29ybGQh\n-----END CERTIFICATE-----\n";

TEST(Certificates, NothingElseOfATextIsTaken) {
  const std::string key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
  EXPECT_EQ(CertificatesIn("# a comment\n" + kFirst + key + "words" + kSecond + "words"),
            kFirst + kSecond);
}

TEST(Certificates, TheFirstIsTheFirstCompleteOne) {
  EXPECT_EQ(CertificatesIn(kFirst + kSecond, 1), kFirst);
  EXPECT_EQ(CertificatesIn("", 1), "");
}

TEST(Certificates, ADamagedOneIsLeftOut) {
  EXPECT_EQ(CertificatesIn("-----BEGIN CERTIFICATE-----\nno base64!\n" + kSecond), kSecond);
  EXPECT_EQ(CertificatesIn("-----BEGIN CERTIFICATE-----\naGVsbG8="), "");
}

}  // namespace
}  // namespace cloche::ca
