#include "ca/certificates.h"

#include <algorithm>

namespace cloche::ca {

std::string CertificatesIn(std::string_view text, size_t count) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  constexpr std::string_view kBody =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n";
  std::string found;
  for (; count > 0; --count) {
    const size_t begin = text.find(kBegin);
    if (begin == text.npos) break;
    text.remove_prefix(begin + kBegin.size());
    const size_t end = std::min(text.find_first_not_of(kBody), text.size());
    if (!text.substr(end).starts_with(kEnd)) continue;
    found.append(kBegin).append(text.substr(0, end)).append(kEnd).append("\n");
    text.remove_prefix(end + kEnd.size());
  }
  return found;
}

}  // namespace cloche::ca
