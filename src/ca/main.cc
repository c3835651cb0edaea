// cloche-ca: makes the files by which the programs of a sandbox trust its CA. Started by
// cloche-spawn as nobody; it reads what the sandbox has written, so it keeps no call but to read
// and write.
//   3  the certificates from cloched (PEM), the first of which is the CA
//   4  the bundle of the sandbox, whatever it is; empty: it has none
//   5  gets the CA alone, PEM
//   6  gets all trusted certificates, PEM
//   7  gets the same as a trust store of Java
#include <sys/syscall.h>
#include <time.h>

#include <string>

#include "ca/certificates.h"
#include "ca/java_store.h"
#include "sys/call_list.h"
#include "sys/file.h"

namespace cloche::ca {
namespace {

constexpr int kGivenFd = 3, kBundleFd = 4, kOwnFd = 5, kAllFd = 6, kJavaFd = 7;
constexpr size_t kMostBytes = 4 << 20;

int Main() {
  static constexpr sys::AllowedCall kCalls[] = {{SYS_read}, {SYS_write}, {SYS_lseek}};
  if (sys::AllowOnly(kCalls) < 0) return 1;
  std::string given, bundle;
  if (sys::ReadAll(kGivenFd, given, kMostBytes) < 0) return 1;
  if (sys::ReadAll(kBundleFd, bundle, kMostBytes) < 0) return 1;
  const std::string own = CertificatesIn(given, 1);
  if (own.empty()) return 1;
  const std::string believed = CertificatesIn(bundle);
  const std::string all = believed.empty() ? CertificatesIn(given) : believed + own;
  const auto now_ms = static_cast<uint64_t>(time(nullptr)) * 1000;
  const bool written = sys::WriteWhole(kOwnFd, own) && sys::WriteWhole(kAllFd, all) &&
                       sys::WriteWhole(kJavaFd, JavaTrustStore(all, now_ms));
  return written ? 0 : 1;
}

}  // namespace
}  // namespace cloche::ca

int main() { return cloche::ca::Main(); }
