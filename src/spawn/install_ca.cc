#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "spawn/become_program.h"
#include "spawn/server.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

// Makes a running sandbox trust certificates, by mounting over its files, so that none of its files
// changes. A process that enters its mount namespace does it. The sandbox controls every path
// there: files are read as nobody, cloche-ca takes only certificates from them, and mounts on them
// are visible only inside.
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
constexpr const char* kJavaPlaces[] = {"usr/lib/jvm", "opt", "opt/java"};  // one in each below
constexpr int kMostJavas = 64;
constexpr size_t kMostBytes = 4 << 20;
constexpr uint64_t kRoom = 16 << 20;
constexpr unsigned kPatience = 10;  // seconds; a sandbox's file may never open
constexpr uid_t kNobody = 65534;

// Copies the sandbox's file at this path into `bundle`. False: it has none.
bool CopyBundle(int root, const char* path, int bundle) {
  const sys::Fd file(sys::OpenBeneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, true));
  struct stat info;
  std::string text;
  if (!file.valid() || fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode)) return false;
  return sys::ReadAll(file.get(), text, kMostBytes) >= 0 && !text.empty() &&
         sys::WriteWhole(bundle, text);
}

// Runs `work` in a child with its own namespaces. 0 or an errno.
int InChild(const std::function<int()>& work) {
  const pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    sys::DieWithParent();
    _exit(work());
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

int WriteFile(int dir, const char* name, int memory) {
  std::string text;
  if (int error = lseek(memory, 0, SEEK_SET) < 0 ? -errno : sys::ReadAll(memory, text, kRoom);
      error < 0)
    return error;
  const sys::Fd file(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return -errno;
  if (fchmod(file.get(), 0644) < 0) return -errno;
  return sys::WriteWhole(file.get(), text) ? 0 : -ENOSPC;
}

// If the base has no such file, there is nothing to mount on; if the sandbox put something else
// there, it chose to go without. Both still have kPlace.
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

// Reads what the sandbox trusts now, as nobody, in its mount namespace.
OrFailure<void> Server::ReadBundle(int mounts, int bundle) const {
  const int error = InChild([&] {
    if (int entered = sys::EnterMountsOf(mounts); entered < 0) return -entered;
    const sys::Fd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) return errno;
    if (mode_ == Mode::kSystem)
      if (int nobody = sys::SeeAs(kNobody, kNobody, {}); nobody < 0) return -nobody;
    for (const char* path : kBundles)
      if (CopyBundle(root.get(), path, bundle)) return 0;
    return 0;
  });
  if (error != 0) return Failed(SpawnStep::kNetwork, "read the sandbox's certificates", error);
  return {};
}

// By cloche-ca, in our own mount namespace: we do not parse what a sandbox wrote.
OrFailure<Server::CaFiles> Server::MakeCaFiles(int certificates, int bundle) const {
  CaFiles files;
  for (sys::Fd* each : {&files.own, &files.all, &files.java}) {
    *each = sys::Fd(memfd_create("ca", MFD_CLOEXEC));
    if (!each->valid()) return Failed(SpawnStep::kNetwork, "make memory", errno);
  }
  const int error = InChild([&] {
    if (lseek(bundle, 0, SEEK_SET) < 0) return errno;
    const std::vector<int> fds = {certificates, bundle, files.own.get(), files.all.get(),
                                  files.java.get()};
    return BecomeProgram("cloche-ca", fds, -1, [&] { return LoseAllRights(kNobody, kNobody); });
  });
  if (error != 0) return Failed(SpawnStep::kNetwork, "cloche-ca", error);
  return files;
}

OrFailure<void> Server::InstallCa(int mounts, int certificates) const {
  alarm(kPatience);
  std::string given;
  if (int error = sys::ReadSealed(certificates, given, kMostBytes); error < 0)
    return Failed(SpawnStep::kPlan, "read certificates", error);
  if (lseek(certificates, 0, SEEK_SET) < 0)
    return Failed(SpawnStep::kPlan, "read certificates", errno);
  const sys::Fd bundle(memfd_create("bundle", MFD_CLOEXEC));
  if (!bundle.valid()) return Failed(SpawnStep::kNetwork, "make memory", errno);
  if (auto read = ReadBundle(mounts, bundle.get()); !read) return read;
  auto files = MakeCaFiles(certificates, bundle.get());
  if (!files) return std::unexpected(files.error());

  if (int error = sys::EnterMountsOf(mounts); error < 0)
    return Failed(SpawnStep::kNetwork, "enter mount namespace", error);
  const sys::Fd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return Failed(SpawnStep::kNetwork, "open root", errno);
  constexpr uint64_t kFlags = sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoExec;
  sys::FsContext tmpfs("tmpfs");
  tmpfs.String("source", "cloche").Number("mode", 0755, 8).Number("size", kRoom);
  const sys::Fd mount(tmpfs.Mount(kFlags));
  if (!mount.valid())
    return Failed(SpawnStep::kNetwork, "mount tmpfs", mount.get(), tmpfs.failed());
  struct stat info;
  int error = WriteFile(mount.get(), kOwn, files->own.get());
  if (error == 0) error = WriteFile(mount.get(), kAll, files->all.get());
  if (error == 0) error = WriteFile(mount.get(), kJava, files->java.get());
  if (error == 0) error = sys::SetMountFlags(mount.get(), kFlags | sys::kMountReadOnly, false);
  if (error == 0 && fstat(mount.get(), &info) < 0) error = -errno;
  if (error < 0) return Failed(SpawnStep::kNetwork, "write certificates", error);
  const sys::Fd place(sys::OpenBeneath(root.get(), kPlace, O_PATH | O_DIRECTORY, false));
  if (!place.valid())
    return Failed(SpawnStep::kNetwork, "open mount point", place.get(), "/dev/cloche");
  error = sys::AttachMountAt(mount.get(), place.get());
  if (error < 0) return Failed(SpawnStep::kNetwork, "attach", error, "/dev/cloche");
  CoverAll(root.get(), mount.get(), info.st_dev);
  return {};
}

}  // namespace cloche::spawn
