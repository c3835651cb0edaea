// OpenSSL's EVP functions read openssl.cnf, allocate and lock when first used. These do not, so
// they also work in a process that may only read and write.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "change/model/sha256.h"

#include <openssl/sha.h>

#include <new>

namespace cloche::change {
namespace {

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

std::string GitBlobName(std::string_view content) {
  const std::string head = "blob " + std::to_string(content.size());
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, head.c_str(), head.size() + 1);
  SHA1_Update(&context, content.data(), content.size());
  std::array<unsigned char, SHA_DIGEST_LENGTH> name;
  SHA1_Final(name.data(), &context);
  return BytesToHex(name);
}

}  // namespace cloche::change
