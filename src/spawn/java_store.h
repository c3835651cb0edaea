#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::spawn {

// The certificates of a PEM text as a trust store that every Java reads, of the kind JKS: as a
// file of PKCS #12 each would need Oracle's own attribute to count as trusted, and how it may be
// protected depends on the version. Nothing is secret in it; the password is the usual "changeit".
// What is no base64 is left out.
std::string JavaTrustStore(std::string_view pem, uint64_t now_ms);

std::array<uint8_t, 20> Sha1(std::string_view bytes);  // a checksum here, no protection

}  // namespace cloche::spawn
