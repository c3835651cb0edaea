#include "diff/sha256.h"

// Apart from the hashing, so that who only reads changes does not need OpenSSL.
namespace cloche::diff {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string BytesToHex(std::span<const unsigned char> bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string ToHex(const Sha256& hash) { return BytesToHex(hash); }

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

}  // namespace cloche::diff
