#include "service/btrfs_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/archive.h"
#include "sys/btrfs.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cloche::service {
namespace {

constexpr uid_t kNobodyInside = 4'000'000'000;  // sandboxes know 0 to 65535 and their caller
constexpr ino_t kTopOfSubvolume = 256;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

sys::Fd OpenTop(const std::string& path, struct stat& info) {
  sys::Fd fd(sys::OpenWithoutSymlinks(path.c_str(), kDirectoryFlags));
  if (fd.valid() && fstat(fd.get(), &info) < 0) fd.Reset();
  return fd;
}

// A snapshot shows an empty directory where another subvolume is, and nothing of other mounts.
dev_t device = 0;
int NeedsMore(const char*, const struct stat* info, int, struct FTW* at) {
  return S_ISDIR(info->st_mode) && at->level > 0 &&
         (info->st_dev != device || info->st_ino == kTopOfSubvolume);
}

bool IsOneVolume(const std::string& directory, dev_t of) {
  device = of;
  return nftw(directory.c_str(), NeedsMore, 64, FTW_PHYS) == 0;
}

// The process that made a snapshot holds a lock on it, and so does its guard.
void RemoveStale(int home) {
  sys::Directory list(home, ".");
  while (const dirent* entry = list.Next()) {
    const sys::Fd stale(openat(home, entry->d_name, kDirectoryFlags | O_NOFOLLOW));
    if (!stale.valid() || flock(stale.get(), LOCK_EX | LOCK_NB) < 0) continue;
    sys::DestroySubvolume(stale.get(), "s");
    unlinkat(home, entry->d_name, AT_REMOVEDIR);
  }
}

}  // namespace

// Another process, as the last user, may have removed it when we have just opened it.
bool HostSnapshots::AddVolume(const std::string& path) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    struct stat info;
    Volume volume{path, OpenTop(path, info), "", sys::Fd()};
    if (!volume.top.valid()) return false;
    const int top = volume.top.get();
    if (mkdirat(top, kSnapshotsName, 0) < 0 && errno != EEXIST) return false;
    const sys::Fd all(openat(top, kSnapshotsName, kDirectoryFlags | O_NOFOLLOW));
    if (!all.valid()) continue;
    if (fstat(all.get(), &info) < 0 || (info.st_uid != 0 && info.st_uid != kNobodyInside))
      return false;
    if (fchown(all.get(), kNobodyInside, kNobodyInside) < 0 || fchmod(all.get(), 0700) < 0)
      return false;
    RemoveStale(all.get());
    volume.name = std::to_string(getpid()) + "-" + std::to_string(sys::MonotonicMicros());
    if (mkdirat(all.get(), volume.name.c_str(), 0700) < 0) continue;
    volume.home = sys::Fd(openat(all.get(), volume.name.c_str(), kDirectoryFlags | O_NOFOLLOW));
    if (!volume.home.valid() || flock(volume.home.get(), LOCK_EX | LOCK_NB) < 0) continue;
    syncfs(top);  // what is on disk already does not lengthen the instant
    volumes_.push_back(std::move(volume));
    return true;
  }
  return false;
}

bool HostSnapshots::Prepare(const std::vector<std::string>& data) {
  if (geteuid() != 0 || data.empty() || !CanPack()) return false;
  for (const std::string& path : data) {
    struct stat info;
    struct statfs system;
    const sys::Fd directory = OpenTop(path, info);
    if (!directory.valid() || fstatfs(directory.get(), &system) < 0 ||
        system.f_type != BTRFS_SUPER_MAGIC || !IsOneVolume(path, info.st_dev))
      return false;
    std::string top = path;
    struct stat above = info;
    while (above.st_ino != kTopOfSubvolume) {
      const size_t slash = top.find_last_of('/');
      if (slash == 0 && top == "/") return false;
      top = slash == 0 ? "/" : top.substr(0, slash);
      if (lstat(top.c_str(), &above) < 0 || above.st_dev != info.st_dev) return false;
    }
    size_t volume = 0;
    while (volume < volumes_.size() && volumes_[volume].path != top) ++volume;
    if (volume == volumes_.size() && !AddVolume(top)) return false;
    pieces_.push_back({volume, path == top ? "" : path.substr(top == "/" ? 1 : top.size() + 1)});
  }
  return StartGuard();
}

bool HostSnapshots::StartGuard() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return false;
  sys::Fd read_end(ends[0]);
  alive_ = sys::Fd(ends[1]);
  guard_ = fork();
  if (guard_ < 0) return false;
  if (guard_ > 0) return true;
  setsid();
  alive_.Reset();
  const int null = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  char byte;
  ssize_t got;
  do {
    got = read(read_end.get(), &byte, 1);
  } while (got > 0 || (got < 0 && errno == EINTR));
  Remove();
  _exit(0);
}

bool HostSnapshots::Take() {
  for (const Volume& volume : volumes_)
    if (sys::SnapshotReadOnly(volume.top.get(), volume.home.get(), "s") < 0) return false;
  return true;
}

std::vector<std::string> HostSnapshots::Places() const {
  std::vector<std::string> places;
  for (const Piece& piece : pieces_) {
    const Volume& volume = volumes_[piece.volume];
    places.push_back((volume.path == "/" ? "" : volume.path) + "/" + kSnapshotsName + "/" +
                     volume.name + "/s" + (piece.path.empty() ? "" : "/" + piece.path));
  }
  return places;
}

void HostSnapshots::Remove() const {
  for (const Volume& volume : volumes_) {
    sys::DestroySubvolume(volume.home.get(), "s");
    const sys::Fd all(openat(volume.top.get(), kSnapshotsName, kDirectoryFlags | O_NOFOLLOW));
    unlinkat(all.get(), volume.name.c_str(), AT_REMOVEDIR);
    unlinkat(volume.top.get(), kSnapshotsName, AT_REMOVEDIR);  // if it was the last
  }
}

HostSnapshots::~HostSnapshots() {
  Remove();
  alive_.Reset();
  if (guard_ > 0) waitpid(guard_, nullptr, 0);
}

}  // namespace cloche::service
