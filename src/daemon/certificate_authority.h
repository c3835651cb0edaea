#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace cloche::daemon {

// The CA of one sandbox. cloche-egress terminates TLS with it if rules are about requests. Only the
// sandbox trusts it, and its key is never inside.
struct Authority {
  std::string certificate, key;  // PEM
  std::string sha256;            // of the certificate
  int64_t ends = 0;              // seconds since 1970
};

inline constexpr int64_t kAuthorityLife = 30 * 24 * 60 * 60;

Result<Authority> MakeAuthority(const std::string& sandbox);
// Reads a stored CA. Refuses a certificate and key that do not match.
Result<Authority> ReadAuthority(const std::string& path);
Status KeepAuthority(const Authority& authority, const std::string& path);  // 0600
// Whether it lasts for a sandbox life that begins now; otherwise a new one is made.
bool LastsFrom(const Authority& authority, int64_t now);

}  // namespace cloche::daemon
