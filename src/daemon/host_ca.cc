#include "daemon/host_ca.h"

#include <fcntl.h>
#include <stdlib.h>

#include "sys/file.h"
#include "sys/file_times.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostBytes = 4 << 20;
constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                    "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                    "/etc/ssl/cert.pem"};

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

std::vector<std::string> Files(Mode mode) {
  std::vector<std::string> files;
  for (const char* each : kBundles) {
    if (!sys::IsRegularFile(each)) continue;
    files.push_back(each);
    break;
  }
  if (const std::string own = Variable("SSL_CERT_FILE"); !own.empty()) files.push_back(own);
  files.push_back("/etc/cloche/trusted.pem");
  if (mode == Mode::kSystem) return files;
  std::string config = Variable("XDG_CONFIG_HOME");
  if (config.empty()) config = Variable("HOME") + "/.config";
  files.push_back(config + "/cloche/trusted.pem");
  return files;
}

}  // namespace

int64_t HostCaStamp(Mode mode) {
  uint64_t stamp = 0;
  for (const std::string& each : Files(mode))
    stamp = stamp * 31 + static_cast<uint64_t>(sys::ModifiedNanos(each.c_str()));
  return static_cast<int64_t>(stamp);
}

std::string ReadHostCas(Mode mode) {
  std::string all, text;
  for (const std::string& each : Files(mode))
    if (sys::ReadFileAt(AT_FDCWD, each.c_str(), text, kMostBytes) >= 0) all += text + "\n";
  return all;
}

std::vector<std::string> CertificatesInParts(std::string_view text, size_t most) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> parts(1);
  for (;;) {
    const size_t begin = text.find(kBegin);
    if (begin == text.npos) return parts;
    const size_t end = text.find(kEnd, begin);
    if (end == text.npos) return parts;
    const std::string_view one = text.substr(begin, end + kEnd.size() - begin);
    text.remove_prefix(end + kEnd.size());
    if (one.size() + 1 > most) continue;
    if (parts.back().size() + one.size() + 1 > most) parts.emplace_back();
    parts.back().append(one).append("\n");
  }
}

}  // namespace cloche::daemon
