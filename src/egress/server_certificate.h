#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "egress/tls_reader.h"

namespace cloche::egress {

// Looks for the server's certificate in what it sends first, as it passes, in as many records and
// pieces as it likes. Up to TLS 1.2 it is there for all to see; since TLS 1.3 it is encrypted, and
// when a session is resumed it is not sent. Nobody vouches for it: the program that connects does.
class ServerCertificate {
 public:
  enum class State : uint8_t { kMore, kFound, kNone };

  State Feed(std::string_view bytes);
  State state() const { return state_; }
  const std::string& der() const { return der_; }  // of kFound: the first of its chain

  static constexpr size_t kMostMessage = 64 << 10;  // of a hello, and of a certificate

 private:
  State None();
  State Look();  // at the messages that are whole

  State state_ = State::kMore;
  bool greeted_ = false;
  TlsRecords records_;
  std::string message_;  // handshake bytes that were not used yet
  std::string der_;
};

}  // namespace cloche::egress
