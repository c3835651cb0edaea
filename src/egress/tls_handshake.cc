#include "egress/tls_handshake.h"

#include <algorithm>

namespace cloche::egress {
namespace {

constexpr char kChangeCipherSpec = 20, kHandshake = 22;
constexpr size_t kHelloRequest = 0, kClientHello = 1, kServerHello = 2;
constexpr size_t kSupportedVersions = 43, kTls13 = 0x0304;
constexpr size_t kMostMessage = 64 << 10;

// The random of a ServerHello that is a HelloRetryRequest (RFC 8446, 4.1.3).
constexpr std::string_view kRetry(
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
    "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c",
    32);

}  // namespace

std::string TlsHandshake::BeginRecord(const TlsPieces::Piece& piece, std::string& passes) {
  if (!held_.empty() && piece.type != kHandshake) return "something follows half a ClientHello";
  reads_ = Reads::kNothing;
  if (piece.type == kHandshake && phase_ == Phase::kHellos) {
    reads_ = Reads::kHello;
    return ReadHello(piece.head, passes);
  }
  if (piece.type == kHandshake && !encrypts_) {
    reads_ = Reads::kMessages;
  } else if (piece.type == kHandshake) {
    if (finished_) return "a new handshake in an old connection (TLS renegotiation)";
    finished_ = true;
  }
  if (piece.type == kChangeCipherSpec && phase_ == Phase::kOld) encrypts_ = true;
  passes += piece.head;
  return "";
}

std::string TlsHandshake::ReadHello(std::string_view bytes, std::string& passes) {
  held_ += bytes;
  if (held_.size() > kMostHeld) return "the ClientHello is in too many records";
  switch (hello_.Feed(bytes)) {
    case ClientHello::State::kMore:
      return "";
    case ClientHello::State::kBad:
      return hello_.why();
    case ClientHello::State::kDone:
      break;
  }
  std::string why_not = judge_(hello_);
  if (!why_not.empty()) return why_not;
  passes += held_;
  held_ = {};
  hello_ = {};
  return "";
}

// In clear, after the server's hello, no message may be another hello.
bool TlsHandshake::HasHello(std::string_view content) {
  while (!content.empty()) {
    if (message_left_ > 0) {
      const size_t taken = std::min(message_left_, content.size());
      message_left_ -= taken;
      content.remove_prefix(taken);
      continue;
    }
    begun_ += content[0];
    content.remove_prefix(1);
    if (begun_[0] == kClientHello) return true;
    if (begun_.size() < 4) continue;
    message_left_ = TlsReader(std::string_view(begun_).substr(1)).Number(3);
    begun_.clear();
  }
  return false;
}

std::string TlsHandshake::FromClient(std::string_view bytes, std::string& passes) {
  while (true) {
    if (over()) {
      if (!held_.empty()) return "the server answered half a ClientHello";
      passes += client_.TakeHead();
      passes += bytes;
      return "";
    }
    if (bytes.empty()) return "";
    TlsPieces::Piece piece;
    if (const char* why = client_.Next(bytes, piece)) return why;
    if (!piece.whole_head) return "";
    if (piece.begins) {
      std::string why = BeginRecord(piece, passes);
      if (!why.empty()) return why;
    }
    if (reads_ == Reads::kHello) {
      std::string why = ReadHello(piece.content, passes);
      if (!why.empty()) return why;
      continue;
    }
    if (reads_ == Reads::kMessages && HasHello(piece.content))
      return "a second ClientHello after the server's hello";
    passes += piece.content;
  }
}

void TlsHandshake::FromServer(std::string_view bytes) {
  while (!answered() && !bytes.empty()) {
    TlsPieces::Piece piece;
    if (server_.Next(bytes, piece) != nullptr) {
      lost_ = true;
    } else if (piece.whole_head && piece.type == kHandshake) {
      message_ += piece.content;
      LookAtServer();
    }
  }
  if (answered()) message_ = {};
}

void TlsHandshake::LookAtServer() {
  while (!answered() && message_.size() >= 4) {
    TlsReader reader(message_);
    const size_t type = reader.Number(1), size = reader.Number(3);
    if ((type != kServerHello && type != kHelloRequest) || size > kMostMessage) {
      lost_ = true;
      return;
    }
    const std::string_view message = reader.Take(size);
    if (!reader.good()) return;
    if (type == kServerHello) ReadServerHello(message);
    message_.erase(0, 4 + size);
  }
}

void TlsHandshake::ReadServerHello(std::string_view message) {
  TlsReader hello(message);
  hello.Take(2);
  const std::string_view random = hello.Take(32);
  hello.Vector(1);    // session
  hello.Take(2 + 1);  // cipher, compression
  if (!hello.good()) {
    lost_ = true;
    return;
  }
  if (random == kRetry) return;
  phase_ = Phase::kOld;
  TlsReader extensions(hello.Vector(2));
  while (hello.good() && !extensions.empty()) {
    const size_t type = extensions.Number(2);
    TlsReader content(extensions.Vector(2));
    if (!extensions.good()) return;
    if (type == kSupportedVersions && content.Number(2) == kTls13 && content.good())
      phase_ = Phase::kOver;
  }
}

}  // namespace cloche::egress
