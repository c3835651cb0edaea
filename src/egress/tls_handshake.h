#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "egress/client_hello.h"
#include "egress/tls_reader.h"

namespace cloche::egress {

// Watches both sides of a TLS connection that passes, until no hello can come in clear any more. A
// server that asks for another hello (HelloRetryRequest) takes the name in that one, so every hello
// is judged before it is sent on. In TLS 1.3 all that follows the server's own hello is encrypted.
// Before, a client could ask for a new handshake in an encrypted record: these are told apart by
// their type, and refused, for as long as the connection lasts.
class TlsHandshake {
 public:
  using Judge = std::function<std::string(const ClientHello& hello)>;  // "": it may pass
  explicit TlsHandshake(Judge judge) : judge_(std::move(judge)) {}

  // Appends to `passes` the bytes that may be sent on to the server; called with nothing new, it
  // appends what waited for over(). Returns why the rest may not pass, or "".
  std::string FromClient(std::string_view bytes, std::string& passes);
  void FromServer(std::string_view bytes);

  bool over() const { return phase_ == Phase::kOver; }  // clients need not be watched any more
  bool answered() const { return phase_ != Phase::kHellos || lost_; }  // nor the server

  static constexpr size_t kMostHeld = 80 << 10;  // a hello, with the heads of its records

 private:
  // kOld: TLS 1.2 or before.
  enum class Phase : uint8_t { kHellos, kOld, kOver };
  enum class Reads : uint8_t { kNothing, kHello, kMessages };

  std::string BeginRecord(const TlsPieces::Piece& piece, std::string& passes);
  std::string ReadHello(std::string_view bytes, std::string& passes);
  bool HasHello(std::string_view content);
  void ReadServerHello(std::string_view message);
  void LookAtServer();

  Judge judge_;
  Phase phase_ = Phase::kHellos;
  TlsPieces client_, server_;
  Reads reads_ = Reads::kNothing;  // of the client's record
  ClientHello hello_;
  std::string held_;                          // of a hello that has not been judged yet
  std::string begun_;                         // the head of a handshake message, as far as it came
  size_t message_left_ = 0;                   // and what follows it
  bool encrypts_ = false, finished_ = false;  // the client, before TLS 1.3
  std::string message_;                       // of the server
  bool lost_ = false;  // what the server says is not a handshake: the client is watched for ever
};

}  // namespace cloche::egress
