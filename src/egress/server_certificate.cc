#include "egress/server_certificate.h"

namespace cloche::egress {
namespace {

constexpr uint8_t kServerHello = 2, kCertificate = 11;
constexpr size_t kSupportedVersions = 43;

// Of TLS 1.2 or before: only then the certificate comes in clear.
bool IsOld(std::string_view message) {
  TlsReader hello(message);
  hello.Take(2 + 32);  // version, random
  hello.Vector(1);     // session
  hello.Take(2 + 1);   // cipher, compression
  if (!hello.good()) return false;
  if (hello.empty()) return true;
  TlsReader extensions(hello.Vector(2));
  while (hello.good() && !extensions.empty()) {
    const size_t type = extensions.Number(2);
    extensions.Vector(2);
    if (!extensions.good() || type == kSupportedVersions) return false;
  }
  return hello.good() && hello.empty();
}

}  // namespace

ServerCertificate::State ServerCertificate::None() {
  message_ = {};
  return state_ = State::kNone;
}

ServerCertificate::State ServerCertificate::Feed(std::string_view bytes) {
  while (state_ == State::kMore && !bytes.empty()) {
    if (records_.Take(bytes, message_) != nullptr) return None();
    Look();
  }
  return state_;
}

ServerCertificate::State ServerCertificate::Look() {
  while (message_.size() >= 4) {
    TlsReader reader(message_);
    const size_t type = reader.Number(1), size = reader.Number(3);
    if (type != (greeted_ ? kCertificate : kServerHello)) return None();
    if (!greeted_) {
      if (size > kMostMessage) return None();
      const std::string_view hello = reader.Take(size);
      if (!reader.good()) return state_;
      if (!IsOld(hello)) return None();
      greeted_ = true;
      message_.erase(0, 4 + size);
      continue;
    }
    // The first certificate is enough; those that vouch for it may be longer.
    const size_t list = reader.Number(3), first = reader.Number(3);
    if (!reader.good()) return state_;
    if (list + 3 != size || first == 0 || first + 3 > list || first > kMostMessage) return None();
    const std::string_view der = reader.Take(first);
    if (!reader.good()) return state_;
    der_ = der;
    message_ = {};
    return state_ = State::kFound;
  }
  return state_;
}

}  // namespace cloche::egress
