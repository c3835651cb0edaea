#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::ca {

// The certificates in a PEM text and nothing else of it; at most the first `count`.
std::string CertificatesIn(std::string_view text, size_t count = SIZE_MAX);

}  // namespace cloche::ca
