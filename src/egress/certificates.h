#pragma once

#include <ctime>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "egress/control.h"
#include "egress/tls.h"

struct evp_pkey_st;
struct x509_st;

namespace cloche::egress {

// The CA of one sandbox, which only that sandbox trusts. Certificates are made when a name is first
// met.
class Certificates {
 public:
  static Result<std::shared_ptr<Certificates>> Make(const CertificateAuthority& authority);
  ~Certificates();
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  // HTTP/2 is spoken with `two` only. nullptr: out of memory.
  std::unique_ptr<Tls> Accept(const std::string& name, bool is_address, bool two);

 private:
  Certificates() = default;
  ssl_ctx_st* ContextFor(const std::string& name, bool is_address);

  x509_st* certificate_ = nullptr;
  evp_pkey_st* key_ = nullptr;
  evp_pkey_st* own_key_ = nullptr;  // of the certificates we make
  struct Context {
    ssl_ctx_st* context = nullptr;
    time_t made = 0;
  };
  std::map<std::string, Context> contexts_;
};

}  // namespace cloche::egress
