#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/launch_plan.h"

namespace cloche::daemon {

// The CAs this machine trusts: its own bundle, the daemon's SSL_CERT_FILE, /etc/cloche/trusted.pem
// and, rootless, ~/.config/cloche/trusted.pem.
int64_t HostCaStamp(Mode mode);      // changes when they may have changed
std::string ReadHostCas(Mode mode);  // certificates, PEM

// Splits the certificates in a text into parts of at most `most` bytes; at least one part.
std::vector<std::string> CertificatesInParts(std::string_view text, size_t most);

}  // namespace cloche::daemon
