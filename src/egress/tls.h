#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace cloche::egress {

// One side of a TLS connection, without a socket: bytes go in by Feed and come out in `pending`.
class Tls {
 public:
  explicit Tls(ssl_st* ssl);  // takes it
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  void Feed(std::string_view raw);
  int Handshake();                       // 1: done, 0: feed it more, -1: failed
  long Read(char* data, size_t size);    // bytes, 0 at the end, -EAGAIN: feed it more, -EPROTO
  bool Encrypt(std::string_view bytes);  // into `pending`
  void Close();                          // says goodbye into `pending`

  std::string pending;
  std::string why;  // it failed
  std::string PeerSha256() const;
  bool SpeaksHttp2() const;  // that is what both sides agreed on

 private:
  void Collect();
  void Explain(const char* what);
  static void OnMessage(int written, int version, int type, const void* bytes, size_t size,
                        ssl_st* ssl, void* self);
  ssl_st* ssl_;
  bool secure_ = false;         // the handshake is done
  uint64_t read_ = 0;           // bytes of content since then
  uint64_t more_messages_ = 0;  // and handshake messages: new keys, tickets
  bool tired_ = false;          // too many of them
};

// The CAs we trust upstream.
class Trust {
 public:
  Trust();
  ~Trust();
  // In parts: the old CAs are trusted until the last part came.
  void Add(std::string_view pem, bool first, bool more);
  // Connects to `name`, whose certificate must be valid for it. HTTP/2 is offered with `two` only.
  std::unique_ptr<Tls> ConnectTo(const std::string& name, bool is_address, bool two);

 private:
  ssl_ctx_st* context_;
  std::string pem_;
};

std::string Sha256Hex(std::string_view bytes);

// Loads what OpenSSL loads when it is first used, while files can still be read.
void PrepareTls();

}  // namespace cloche::egress
