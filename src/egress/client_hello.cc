#include "egress/client_hello.h"

namespace cloche::egress {
namespace {

constexpr char kClientHello = 1;
constexpr uint16_t kServerName = 0, kProtocols = 16, kEncryptedHello = 0xfe0d;

}  // namespace

ClientHello::State ClientHello::Bad(const char* why) {
  why_ = why;
  return state_ = State::kBad;
}

ClientHello::State ClientHello::Feed(std::string_view bytes) {
  while (state_ == State::kMore && !bytes.empty()) {
    if (const char* why = records_.Take(bytes, message_)) return Bad(why);
    if (message_.empty()) continue;
    if (message_[0] != kClientHello) return Bad("no ClientHello comes first");
    if (message_.size() < 4) continue;
    TlsReader size(std::string_view(message_).substr(1));
    const size_t whole = 4 + size.Number(3);
    if (whole > kMostMessage) return Bad("the ClientHello is too long");
    // Nothing else may be in its last record: the server has not answered yet.
    if (message_.size() > whole || (message_.size() == whole && !records_.at_end()))
      return Bad("something follows the ClientHello");
    if (message_.size() == whole) return Parse();
  }
  return state_;
}

ClientHello::State ClientHello::Parse() {
  TlsReader hello(std::string_view(message_).substr(4));
  hello.Take(2 + 32);  // version, random
  hello.Vector(1);     // session
  hello.Vector(2);     // ciphers
  hello.Vector(1);     // compression
  if (!hello.good()) return Bad("the ClientHello is damaged");
  if (!hello.empty()) {
    TlsReader extensions(hello.Vector(2));
    if (!hello.good() || !hello.empty()) return Bad("the ClientHello is damaged");
    bool named = false;
    while (!extensions.empty()) {
      const size_t type = extensions.Number(2);
      const std::string_view content = extensions.Vector(2);
      if (!extensions.good()) return Bad("the ClientHello is damaged");
      if (type == kEncryptedHello) encrypted_ = true;
      if (type == kProtocols && !ParseProtocols(content)) return Bad("its protocols are damaged");
      if (type != kServerName) continue;
      if (named || !ParseName(content)) return Bad("the server name is damaged");
      named = true;
    }
  }
  message_.clear();
  message_.shrink_to_fit();
  return state_ = State::kDone;
}

bool ClientHello::ParseProtocols(std::string_view content) {
  TlsReader outer(content);
  TlsReader list(outer.Vector(2));
  while (list.good() && !list.empty()) {
    if (list.Vector(1) == "h2") offers_http2_ = true;
  }
  return outer.good() && outer.empty() && list.good();
}

// Exactly one host name.
bool ClientHello::ParseName(std::string_view content) {
  TlsReader outer(content);
  TlsReader list(outer.Vector(2));
  const size_t type = list.Number(1);
  name_ = list.Vector(2);
  return outer.good() && outer.empty() && list.good() && list.empty() && type == 0 &&
         !name_.empty() && name_.find('\0') == std::string::npos;
}

}  // namespace cloche::egress
