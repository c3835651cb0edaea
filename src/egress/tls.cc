#include "egress/tls.h"

#include <errno.h>
#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/ascii.h"

namespace cloche::egress {
namespace {

constexpr unsigned char kHttp11[] = "\x08http/1.1";
constexpr unsigned char kHttp2Too[] = "\x02h2\x08http/1.1";
// Handshake messages after the handshake. Each costs us several hashes and may ask for an answer,
// and says nothing. Those who mean it change keys after gigabytes.
constexpr uint64_t kFreeMessages = 32, kBytesAMessage = 1 << 20;

}  // namespace

Tls::Tls(ssl_st* ssl) : ssl_(ssl) {
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_mode(ssl_, SSL_MODE_RELEASE_BUFFERS);  // whoever waits holds little memory
  SSL_set_msg_callback(ssl_, OnMessage);
  SSL_set_msg_callback_arg(ssl_, this);
}

// Called by OpenSSL while it reads. It would continue with all that was fed: the rest is taken
// away.
void Tls::OnMessage(int written, int, int type, const void*, size_t, ssl_st* ssl, void* self) {
  Tls& tls = *static_cast<Tls*>(self);
  if (written != 0 || type != SSL3_RT_HANDSHAKE || !tls.secure_) return;
  if (++tls.more_messages_ <= kFreeMessages + tls.read_ / kBytesAMessage) return;
  tls.tired_ = true;
  BIO_reset(SSL_get_rbio(ssl));
}

Tls::~Tls() { SSL_free(ssl_); }

void Tls::Feed(std::string_view raw) {
  BIO_write(SSL_get_rbio(ssl_), raw.data(), static_cast<int>(raw.size()));
}

void Tls::Collect() {
  BIO* out = SSL_get_wbio(ssl_);
  while (const size_t waiting = BIO_ctrl_pending(out)) {
    const size_t before = pending.size();
    pending.resize(before + waiting);
    const int got = BIO_read(out, pending.data() + before, static_cast<int>(waiting));
    pending.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got <= 0) break;
  }
}

void Tls::Explain(const char* what) {
  const long verified = SSL_get_verify_result(ssl_);
  const unsigned long error = ERR_peek_last_error();
  if (verified != X509_V_OK) {
    why = fmt::format("certificate: {}", X509_verify_cert_error_string(verified));
  } else {
    const char* reason = ERR_reason_error_string(error);
    why = fmt::format("TLS: {}", reason == nullptr ? what : reason);
  }
  ERR_clear_error();
}

int Tls::Handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_);
  const int error = SSL_get_error(ssl_, done);
  Collect();
  secure_ = done == 1;
  if (secure_) return 1;
  if (error == SSL_ERROR_WANT_READ) return 0;
  Explain("the handshake failed");
  return -1;
}

long Tls::Read(char* data, size_t size) {
  ERR_clear_error();
  const int got = SSL_read(ssl_, data, static_cast<int>(size));
  const int error = SSL_get_error(ssl_, got);
  Collect();
  if (tired_) {
    why = "TLS: too many handshake messages after the handshake";
    return -EPROTO;
  }
  if (got > 0) read_ += static_cast<uint64_t>(got);
  if (got > 0) return got;
  if (error == SSL_ERROR_WANT_READ) return -EAGAIN;
  if (error == SSL_ERROR_ZERO_RETURN) return 0;
  Explain("the connection broke");
  return -EPROTO;
}

bool Tls::Encrypt(std::string_view bytes) {
  ERR_clear_error();
  const bool fine =
      bytes.empty() || SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  Collect();
  return fine;
}

void Tls::Close() {
  SSL_shutdown(ssl_);
  Collect();
  ERR_clear_error();
}

std::string Tls::PeerSha256() const {
  X509* peer = SSL_get0_peer_certificate(ssl_);
  unsigned char* der = nullptr;
  const int size = peer == nullptr ? -1 : i2d_X509(peer, &der);
  if (size < 0) return "";
  std::string hex =
      Sha256Hex(std::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return hex;
}

bool Tls::SpeaksHttp2() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &chosen, &size);
  return std::string_view(reinterpret_cast<const char*>(chosen), size) == "h2";
}

Trust::Trust() : context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context_, kHttp11, sizeof kHttp11 - 1);
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION);
}

Trust::~Trust() { SSL_CTX_free(context_); }

void Trust::Add(std::string_view pem, bool first, bool more) {
  if (first) pem_.clear();
  pem_ += pem;
  if (more) return;
  X509_STORE* store = X509_STORE_new();
  BIO* text = BIO_new_mem_buf(pem_.data(), static_cast<int>(pem_.size()));
  while (X509* certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(store, certificate);
    X509_free(certificate);
  }
  BIO_free(text);
  ERR_clear_error();
  SSL_CTX_set_cert_store(context_, store);  // takes it
}

std::unique_ptr<Tls> Trust::ConnectTo(const std::string& name, bool is_address, bool two) {
  SSL* ssl = SSL_new(context_);
  if (ssl == nullptr) return nullptr;
  if (two) SSL_set_alpn_protos(ssl, kHttp2Too, sizeof kHttp2Too - 1);
  SSL_set_connect_state(ssl);
  if (is_address) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, name.c_str());
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, name.c_str());
  }
  return std::make_unique<Tls>(ssl);
}

std::string Sha256Hex(std::string_view bytes) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), hash, &size, EVP_sha256(), nullptr) != 1) return "";
  return Hex(hash, size);
}

void PrepareTls() {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS |
                       OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
                   nullptr);
  EVP_PKEY_free(EVP_EC_gen("P-256"));
  SSL_CTX_free(SSL_CTX_new(TLS_server_method()));
}

}  // namespace cloche::egress
