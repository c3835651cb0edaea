#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/launch_plan.h"

namespace cloche::daemon {

// Whom this machine believes: its own bundle, what SSL_CERT_FILE of the daemon names,
// /etc/cloche/trusted.pem and, rootless, ~/.config/cloche/trusted.pem.
int64_t HostCaStamp(Mode mode);      // another one when it may have changed
std::string ReadHostCas(Mode mode);  // certificates, PEM

// The certificates in a text, in parts of at most `most` bytes; at least one part.
std::vector<std::string> CertificatesInParts(std::string_view text, size_t most);

}  // namespace cloche::daemon
