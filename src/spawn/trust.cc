#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "spawn/java_store.h"
#include "spawn/server.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

// What a running sandbox is to believe: laid over its files by mounts of its own, so that no file
// of its changes. Done by a process that enters its mount namespace. Every path there is the
// sandbox's: what is found at one is looked at as nobody, only certificates are taken from it, and
// what is mounted on it is only ever seen inside.
namespace cloche::spawn {
namespace {

constexpr const char* kPlace = "dev/cloche";
constexpr const char* kOwn = "ca.crt";
constexpr const char* kAll = "ca-certificates.crt";
constexpr const char* kJava = "cacerts";
constexpr const char* kBundles[] = {"etc/ssl/certs/ca-certificates.crt",  // Debian, Arch
                                    "etc/pki/tls/certs/ca-bundle.crt",    // Fedora
                                    "etc/ssl/cert.pem",                   // Alpine
                                    "etc/ssl/ca-bundle.pem"};             // SUSE

constexpr const char* kJavaStores[] = {"etc/ssl/certs/java/cacerts",               // Debian
                                       "etc/pki/ca-trust/extracted/java/cacerts",  // Fedora
                                       "var/lib/ca-certificates/java-cacerts"};    // SUSE
constexpr const char* kJavaPlaces[] = {"usr/lib/jvm", "opt", "opt/java"};  // one is in each below
constexpr int kMostJavas = 64;
constexpr size_t kMostBytes = 4 << 20;
constexpr uint64_t kRoom = 16 << 20;
constexpr unsigned kPatience = 10;  // seconds; a file of a sandbox may never open
constexpr uid_t kNobody = 65534;

// The certificates in a text and nothing else of it; at most the first `count`.
std::string CertificatesIn(std::string_view text, size_t count = SIZE_MAX) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  constexpr std::string_view kBody =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n";
  std::string found;
  for (; count > 0; --count) {
    const size_t begin = text.find(kBegin);
    if (begin == text.npos) break;
    text.remove_prefix(begin + kBegin.size());
    const size_t end = std::min(text.find_first_not_of(kBody), text.size());
    if (!text.substr(end).starts_with(kEnd)) continue;
    found.append(kBegin).append(text.substr(0, end)).append(kEnd).append("\n");
    text.remove_prefix(end + kEnd.size());
  }
  return found;
}

std::string ReadBundle(int root, const char* path) {
  const sys::Fd file(sys::OpenBeneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, true));
  struct stat info;
  std::string text;
  if (!file.valid() || fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode)) return text;
  if (sys::ReadAll(file.get(), text, kMostBytes) < 0) return "";
  return CertificatesIn(text);
}

uint64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000;
}

int WriteFile(int dir, const char* name, const std::string& text) {
  const sys::Fd file(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return -errno;
  if (fchmod(file.get(), 0644) < 0) return -errno;
  const ssize_t written = write(file.get(), text.data(), text.size());
  if (written < 0) return -errno;
  return static_cast<size_t>(written) == text.size() ? 0 : -ENOSPC;
}

// Where the base has no such file there is nothing to mount on; where the sandbox put something
// else there, it misses what it does not want. Both have kPlace.
void Cover(int root, const char* path, int mount, const char* name, dev_t device) {
  const sys::Fd target(sys::OpenBeneath(root, path, O_PATH, true));
  struct stat info;
  if (!target.valid() || fstat(target.get(), &info) < 0) return;
  if (!S_ISREG(info.st_mode) || info.st_dev == device) return;  // one may lead to another
  const sys::Fd file(sys::OpenTree(mount, name, false));
  if (file.valid()) (void)sys::AttachMountAt(file.get(), target.get());
}

void CoverAll(int root, int mount, dev_t device) {
  for (const char* path : kBundles) Cover(root, path, mount, kAll, device);
  for (const char* path : kJavaStores) Cover(root, path, mount, kJava, device);
  for (const char* place : kJavaPlaces) {
    sys::Directory list{
        sys::Fd(sys::OpenBeneath(root, place, O_RDONLY | O_DIRECTORY | O_NONBLOCK, true))};
    for (int left = kMostJavas; left > 0; --left) {
      const dirent* entry = list.Next();
      if (entry == nullptr) break;
      const std::string java = std::string(place) + "/" + entry->d_name;
      for (const char* store : {"/lib/security/cacerts", "/jre/lib/security/cacerts"})
        Cover(root, (java + store).c_str(), mount, kJava, device);
    }
  }
}

}  // namespace

Outcome<void> Server::LayTrust(int mounts, int certificates) const {
  alarm(kPatience);
  std::string given;
  if (int error = sys::ReadSealed(certificates, given, kMostBytes); error < 0)
    return Failed(SpawnStage::kPlan, "read certificates", error);
  const std::string own = CertificatesIn(given, 1);
  if (own.empty()) return Failed(SpawnStage::kPlan, "certificates", EINVAL);
  if (int error = sys::EnterMountsOf(mounts); error < 0)
    return Failed(SpawnStage::kNetwork, "enter mount namespace", error);
  const sys::Fd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return Failed(SpawnStage::kNetwork, "open root", errno);

  const bool privileged = mode_ == Mode::kSystem;
  if (privileged)
    if (int error = sys::SeeAs(kNobody, kNobody, {}); error < 0)
      return Failed(SpawnStage::kPrivileges, "become nobody", error);
  std::string all;
  for (const char* path : kBundles)
    if (all.empty()) all = ReadBundle(root.get(), path);
  if (privileged) sys::SeeAsOurselves();
  all = all.empty() ? CertificatesIn(given) : all + own;

  constexpr uint64_t kFlags = sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoExec;
  sys::FsContext tmpfs("tmpfs");
  tmpfs.String("source", "cloche").Number("mode", 0755, 8).Number("size", kRoom);
  const sys::Fd mount(tmpfs.Mount(kFlags));
  if (!mount.valid())
    return Failed(SpawnStage::kNetwork, "mount tmpfs", mount.get(), tmpfs.failed());
  struct stat info;
  int error = WriteFile(mount.get(), kOwn, own);
  if (error == 0) error = WriteFile(mount.get(), kAll, all);
  if (error == 0) error = WriteFile(mount.get(), kJava, JavaTrustStore(all, NowMs()));
  if (error == 0) error = sys::SetMountFlags(mount.get(), kFlags | sys::kMountReadOnly, false);
  if (error == 0 && fstat(mount.get(), &info) < 0) error = -errno;
  if (error < 0) return Failed(SpawnStage::kNetwork, "write certificates", error);
  const sys::Fd place(sys::OpenBeneath(root.get(), kPlace, O_PATH | O_DIRECTORY, false));
  if (!place.valid())
    return Failed(SpawnStage::kNetwork, "open mount point", place.get(), "/dev/cloche");
  error = sys::AttachMountAt(mount.get(), place.get());
  if (error < 0) return Failed(SpawnStage::kNetwork, "attach", error, "/dev/cloche");
  CoverAll(root.get(), mount.get(), info.st_dev);
  return {};
}

}  // namespace cloche::spawn
