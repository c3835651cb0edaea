#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cloche::change {

using Sha256 = std::array<unsigned char, 32>;

// SHA-256 of data fed piece by piece.
class Sha256Stream {
 public:
  Sha256Stream();
  void Update(std::string_view bytes);
  Sha256 Finish();  // once

 private:
  // OpenSSL's SHA256_CTX, without including its header; sha256.cc checks that it fits.
  alignas(8) std::array<unsigned char, 128> state_;
};

Sha256 HashOf(std::string_view bytes);

std::string BytesToHex(std::span<const unsigned char> bytes);
std::string ToHex(const Sha256& hash);                      // 64 of [0-9a-f]
std::optional<Sha256> Sha256FromHex(std::string_view hex);  // exactly that form

// git's name for a file with this content, in hex.
std::string GitBlobName(std::string_view content);

}  // namespace cloche::change
