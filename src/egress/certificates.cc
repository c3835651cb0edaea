#include "egress/certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstring>

namespace cloche::egress {
namespace {

constexpr size_t kMostContexts = 1024;
constexpr long kDay = 24 * 60 * 60;
constexpr long kLife = 7 * kDay;  // of a certificate; another is made long before

// The protocols of our side of the connection; HTTP/2 first.
constexpr unsigned char kHttp2Too[] = "\x02h2\x08http/1.1";
constexpr unsigned char kHttp11[] = "\x08http/1.1";

int ChooseProtocol(SSL* ssl, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* found = nullptr;
  const bool two = SSL_get_app_data(ssl) != nullptr;
  const unsigned ours = two ? sizeof kHttp2Too - 1 : sizeof kHttp11 - 1;
  if (SSL_select_next_proto(&found, size, two ? kHttp2Too : kHttp11, ours, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

bool AddExtension(X509* certificate, X509* issuer, int which, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

X509* Issue(X509* issuer, EVP_PKEY* issuer_key, EVP_PKEY* key, const std::string& name,
            bool is_address) {
  X509* certificate = X509_new();
  unsigned char serial[16];
  if (certificate == nullptr || RAND_bytes(serial, sizeof serial) != 1) return certificate;
  serial[0] &= 0x7f;
  BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
  BN_free(number);
  X509_set_version(certificate, X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kLife);
  X509_set_pubkey(certificate, key);
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  const std::string shown = name.substr(0, 64);  // as long as a common name may be
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(shown.c_str()), -1, -1, 0);
  const bool fine = AddExtension(certificate, issuer, NID_subject_alt_name,
                                 (is_address ? "IP:" : "DNS:") + name) &&
                    AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                    AddExtension(certificate, issuer, NID_ext_key_usage, "serverAuth") &&
                    AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid") &&
                    X509_sign(certificate, issuer_key, EVP_sha256()) > 0;
  if (fine) return certificate;
  X509_free(certificate);
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<Certificates>> Certificates::Make(const CertificateAuthority& authority) {
  std::shared_ptr<Certificates> made(new Certificates());
  BIO* text =
      BIO_new_mem_buf(authority.certificate.data(), static_cast<int>(authority.certificate.size()));
  made->certificate_ = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  text = BIO_new_mem_buf(authority.key.data(), static_cast<int>(authority.key.size()));
  made->key_ = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  made->own_key_ = EVP_EC_gen("P-256");
  const bool fits = made->certificate_ != nullptr && made->key_ != nullptr &&
                    made->own_key_ != nullptr &&
                    X509_check_private_key(made->certificate_, made->key_) == 1;
  ERR_clear_error();
  if (!fits) return Fail(Code::kInvalid, "ca: certificate and key do not fit");
  return made;
}

Certificates::~Certificates() {
  for (const auto& [name, each] : contexts_) SSL_CTX_free(each.context);
  X509_free(certificate_);
  EVP_PKEY_free(key_);
  EVP_PKEY_free(own_key_);
}

SSL_CTX* Certificates::ContextFor(const std::string& name, bool is_address) {
  const time_t now = time(nullptr);
  if (const auto found = contexts_.find(name); found != contexts_.end()) {
    if (now - found->second.made < kDay) return found->second.context;
    SSL_CTX_free(found->second.context);
    contexts_.erase(found);
  }
  if (contexts_.size() >= kMostContexts) {
    for (const auto& [each, made] : contexts_) SSL_CTX_free(made.context);  // those in use stay
    contexts_.clear();
  }
  X509* certificate = Issue(certificate_, key_, own_key_, name, is_address);
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  const bool fine = certificate != nullptr && context != nullptr &&
                    SSL_CTX_use_certificate(context, certificate) == 1 &&
                    SSL_CTX_use_PrivateKey(context, own_key_) == 1;
  X509_free(certificate);
  ERR_clear_error();
  if (!fine) {
    SSL_CTX_free(context);
    return nullptr;
  }
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  contexts_[name] = Context{context, now};
  return context;
}

std::unique_ptr<Tls> Certificates::Accept(const std::string& name, bool is_address, bool two) {
  SSL_CTX* context = ContextFor(name, is_address);
  SSL* ssl = context == nullptr ? nullptr : SSL_new(context);
  if (ssl == nullptr) return nullptr;
  SSL_set_accept_state(ssl);
  // Any pointer will do: it means yes.
  if (two) SSL_set_app_data(ssl, const_cast<unsigned char*>(kHttp2Too));
  return std::make_unique<Tls>(ssl);
}

}  // namespace cloche::egress
