// OpenSSL's EVP functions read openssl.cnf, allocate and lock when first used. These do none of it,
// so they also work in a process that may do nothing but read and write.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "diff/sha256.h"

#include <openssl/sha.h>

#include <new>

namespace cloche::diff {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

template <size_t N>
std::string Hex(const std::array<unsigned char, N>& bytes) {
  std::string hex;
  hex.reserve(2 * N);
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

SHA256_CTX* Context(std::array<unsigned char, 128>& state) {
  static_assert(sizeof(SHA256_CTX) <= sizeof state && alignof(SHA256_CTX) <= 8);
  return std::launder(reinterpret_cast<SHA256_CTX*>(state.data()));
}

}  // namespace

Sha256Stream::Sha256Stream() { SHA256_Init(new (state_.data()) SHA256_CTX); }

void Sha256Stream::Update(std::string_view bytes) {
  SHA256_Update(Context(state_), bytes.data(), bytes.size());
}

Sha256 Sha256Stream::Finish() {
  Sha256 hash;
  SHA256_Final(hash.data(), Context(state_));
  return hash;
}

Sha256 HashOf(std::string_view bytes) {
  Sha256Stream stream;
  stream.Update(bytes);
  return stream.Finish();
}

std::string ToHex(const Sha256& hash) { return Hex(hash); }

std::optional<Sha256> Sha256FromHex(std::string_view hex) {
  Sha256 hash;
  if (hex.size() != 2 * hash.size()) return std::nullopt;
  for (size_t i = 0; i < hash.size(); ++i) {
    const int high = DigitValue(hex[2 * i]);
    const int low = DigitValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return hash;
}

std::string GitBlobName(std::string_view content) {
  const std::string head = "blob " + std::to_string(content.size());
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, head.c_str(), head.size() + 1);
  SHA1_Update(&context, content.data(), content.size());
  std::array<unsigned char, SHA_DIGEST_LENGTH> name;
  SHA1_Final(name.data(), &context);
  return Hex(name);
}

}  // namespace cloche::diff
