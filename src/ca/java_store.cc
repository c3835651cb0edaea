#define OPENSSL_SUPPRESS_DEPRECATED
#include "ca/java_store.h"

#include <openssl/sha.h>

#include "change/model/base64.h"

namespace cloche::ca {
namespace {

constexpr uint32_t kMagic = 0xfeedfeed, kVersion = 2, kTrustedCertificate = 2;
constexpr std::string_view kPassword = "changeit";
constexpr std::string_view kSalt = "Mighty Aphrodite";  // of the format

void PutNumber(std::string& out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

void PutText(std::string& out, std::string_view text) {
  PutNumber(out, text.size(), 2);
  out += text;
}

std::string FromLines(std::string_view base64) {
  std::string text(base64);
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
  return change::FromBase64(text).value_or("");
}

}  // namespace

std::string JavaTrustStore(std::string_view pem, uint64_t now_ms) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::string entries;
  uint32_t count = 0;
  while (true) {
    const size_t begin = pem.find(kBegin), end = pem.find(kEnd, begin);
    if (begin == pem.npos || end == pem.npos) break;
    const size_t body = begin + kBegin.size();
    const std::string certificate = FromLines(pem.substr(body, end - body));
    pem.remove_prefix(end + kEnd.size());
    if (certificate.empty()) continue;
    PutNumber(entries, kTrustedCertificate, 4);
    PutText(entries, "cloche-" + std::to_string(++count));
    PutNumber(entries, now_ms, 8);
    PutText(entries, "X.509");
    PutNumber(entries, certificate.size(), 4);
    entries += certificate;
  }
  std::string store;
  PutNumber(store, kMagic, 4);
  PutNumber(store, kVersion, 4);
  PutNumber(store, count, 4);
  store += entries;
  std::string sealed;
  for (const char c : kPassword) PutNumber(sealed, static_cast<uint8_t>(c), 2);
  sealed.append(kSalt).append(store);
  // A checksum here, not a protection. These calls read no settings and take no locks.
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, sealed.data(), sealed.size());
  SHA1_Final(digest, &context);
  for (const unsigned char byte : digest) store += static_cast<char>(byte);
  return store;
}

}  // namespace cloche::ca
