#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::ca {

// The certificates of a PEM text as a trust store that every Java reads, of the kind JKS: as a
// file of PKCS #12 each would need Oracle's own attribute to count as trusted, and how it may be
// protected depends on the version. Nothing is secret in it; the password is the usual "changeit".
// Anything that is not base64 is left out.
std::string JavaTrustStore(std::string_view pem, uint64_t now_ms);

}  // namespace cloche::ca
