#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "egress/tls_reader.h"

namespace cloche::egress {

// Parses the first message of a TLS client as it arrives, in any number of records and pieces. The
// caller keeps the bytes and passes them on.
class ClientHello {
 public:
  enum class State : uint8_t { kMore, kDone, kBad };

  State Feed(std::string_view bytes);
  State state() const { return state_; }
  const char* why() const { return why_; }  // of kBad

  const std::string& name() const { return name_; }  // of SNI, as sent; empty: none
  bool encrypted() const { return encrypted_; }      // an inner hello is hidden in it (ECH)

  bool offers_http2() const { return offers_http2_; }  // by ALPN

  static constexpr size_t kMostMessage = 64 << 10;

 private:
  State Bad(const char* why);
  State Parse();
  bool ParseName(std::string_view list);
  bool ParseProtocols(std::string_view content);

  State state_ = State::kMore;
  const char* why_ = "";
  TlsRecords records_;
  std::string message_;  // handshake bytes so far
  std::string name_;
  bool encrypted_ = false, offers_http2_ = false;
};

}  // namespace cloche::egress
