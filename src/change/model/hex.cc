#include "change/model/sha256.h"

#include "base/ascii.h"

// Separate from the hashing, so that programs that only read changes do not need OpenSSL.
namespace cloche::change {
std::string BytesToHex(std::span<const unsigned char> bytes) {
  return Hex(bytes.data(), bytes.size());
}

std::string ToHex(const Sha256& hash) { return BytesToHex(hash); }

std::optional<Sha256> Sha256FromHex(std::string_view hex) {
  Sha256 hash;
  if (hex.size() != 2 * hash.size() || hex != Lowered(hex)) return std::nullopt;
  for (size_t i = 0; i < hash.size(); ++i) {
    const int high = HexDigit(hex[2 * i]);
    const int low = HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return hash;
}

}  // namespace cloche::change
