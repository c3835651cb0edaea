#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace cloche::daemon {

// The certificate authority of one sandbox. cloche-egress ends TLS with it where rules speak of
// requests. The sandbox believes it, and nobody else does; its key is never inside.
struct Authority {
  std::string certificate, key;  // PEM
  std::string sha256;            // of the certificate
  int64_t ends = 0;              // seconds since 1970
};

inline constexpr int64_t kAuthorityLife = 30 * 24 * 60 * 60;

Result<Authority> MakeAuthority(const std::string& sandbox);
// One that was kept. A certificate and a key that do not fit are refused.
Result<Authority> ReadAuthority(const std::string& path);
Status KeepAuthority(const Authority& authority, const std::string& path);  // 0600
// It lasts long enough for a life that begins now; another is made where it does not.
bool LastsFrom(const Authority& authority, int64_t now);

}  // namespace cloche::daemon
