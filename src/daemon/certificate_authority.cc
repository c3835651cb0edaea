#include "daemon/certificate_authority.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memory>

#include "base/ascii.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace cloche::daemon {
namespace {

constexpr long kBefore = 24 * 60 * 60;  // tolerates clock differences
constexpr size_t kMostBytes = 16 << 10;

struct Free {
  void operator()(X509* it) const { X509_free(it); }
  void operator()(EVP_PKEY* it) const { EVP_PKEY_free(it); }
  void operator()(BIO* it) const { BIO_free(it); }
  void operator()(BIGNUM* it) const { BN_free(it); }
};
template <typename T>
using Held = std::unique_ptr<T, Free>;

bool AddExtension(X509* certificate, int which, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, which, value);
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool AddName(X509* certificate, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1,
                                    0) == 1;
}

bool NumberIt(X509* certificate) {
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return false;
  serial[0] &= 0x7f;
  const Held<BIGNUM> number(BN_bin2bn(serial, sizeof serial, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// It signs only server certificates, and no CA below it. Names are not constrained: rules change,
// and only one sandbox trusts it.
bool Fill(X509* certificate, EVP_PKEY* key, const std::string& sandbox) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 && NumberIt(certificate) &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -kBefore) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), kAuthorityLife) != nullptr &&
         X509_set_pubkey(certificate, key) == 1 && AddName(certificate, "O", "Cloche") &&
         AddName(certificate, "CN", "Cloche border of " + sandbox) &&
         X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
         AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
         AddExtension(certificate, NID_key_usage, "critical,keyCertSign") &&
         AddExtension(certificate, NID_ext_key_usage, "serverAuth") &&
         AddExtension(certificate, NID_subject_key_identifier, "hash") &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

std::string TextIn(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : "";
}

Result<Authority> Describe(X509* certificate, EVP_PKEY* key) {
  Authority made;
  const Held<BIO> first(BIO_new(BIO_s_mem())), second(BIO_new(BIO_s_secmem()));
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  tm end{};
  const bool written = first && second && PEM_write_bio_X509(first.get(), certificate) == 1 &&
                       PEM_write_bio_PKCS8PrivateKey(second.get(), key, nullptr, nullptr, 0,
                                                     nullptr, nullptr) == 1 &&
                       X509_digest(certificate, EVP_sha256(), hash, &size) == 1 &&
                       ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1;
  ERR_clear_error();
  if (!written) return Fail(Code::kInternal, "write authority: out of memory");
  made.certificate = TextIn(first.get());
  made.key = TextIn(second.get());
  made.sha256 = Hex(hash, size);
  made.ends = timegm(&end);
  return made;
}

std::unexpected<Error> Damaged(const std::string& path) {
  return Fail(Code::kUnavailable, "read authority: " + path + " is damaged",
              "remove it: the sandbox gets another one");
}

}  // namespace

Result<Authority> MakeAuthority(const std::string& sandbox) {
  const Held<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Held<X509> certificate(X509_new());
  const bool filled = key && certificate && Fill(certificate.get(), key.get(), sandbox);
  ERR_clear_error();
  if (!filled) return Fail(Code::kInternal, "make authority of " + sandbox + ": OpenSSL refuses");
  return Describe(certificate.get(), key.get());
}

Result<Authority> ReadAuthority(const std::string& path) {
  std::string text;
  if (int error = sys::ReadFileAt(AT_FDCWD, path.c_str(), text, kMostBytes); error < 0)
    return Fail(error == -ENOENT ? Code::kNotFound : Code::kUnavailable,
                fmt::format("read authority: {}: {}", path, strerror(-error)));
  const Held<BIO> memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!memory) return Fail(Code::kInternal, "read authority: out of memory");
  const Held<X509> certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  const Held<EVP_PKEY> key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fits) return Damaged(path);
  return Describe(certificate.get(), key.get());
}

Status KeepAuthority(const Authority& authority, const std::string& path) {
  const std::string text = authority.certificate + authority.key, fresh = path + ".new";
  unlink(fresh.c_str());
  const sys::Fd file(
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written =
      file.valid() &&
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fsync(file.get()) == 0 && rename(fresh.c_str(), path.c_str()) == 0;
  if (written) return {};
  const int error = errno;
  unlink(fresh.c_str());
  return Fail(Code::kUnavailable, fmt::format("keep authority: {}: {}", path, strerror(error)),
              "is the disk full?");
}

bool LastsFrom(const Authority& authority, int64_t now) {
  return authority.ends - now > kAuthorityLife / 2;
}

}  // namespace cloche::daemon
