#include "sys/path_watch.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>

#include "sys/file.h"

namespace cloche::sys {
namespace {

constexpr long kZfs = 0x2fc12fc1, kBcachefs = 0xca451a4e;

// The kernel sees every change there is. (Others write to a network file system too.)
bool IsLocal(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) < 0) return false;
  constexpr long kLocal[] = {EXT4_SUPER_MAGIC,
                             BTRFS_SUPER_MAGIC,
                             XFS_SUPER_MAGIC,
                             TMPFS_MAGIC,
                             OVERLAYFS_SUPER_MAGIC,
                             F2FS_SUPER_MAGIC,
                             kZfs,
                             kBcachefs};
  return std::ranges::find(kLocal, static_cast<long>(info.f_type)) != std::end(kLocal);
}

int64_t Share(const char* limit, int64_t part) {
  return std::max<int64_t>(1, ReadNumberAt(AT_FDCWD, limit) / part);
}

int64_t instances = 0, watches = 0;  // in use, by all

}  // namespace

struct PathWatch::Notify {
  Notify() : fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) { ++instances; }
  ~Notify() {
    --instances;
    watches -= used;
  }
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;

  bool Add(int directory) {
    static const int64_t most = Share("/proc/sys/fs/inotify/max_user_watches", 4);
    if (watches >= most) return false;
    constexpr uint32_t kNews =
        IN_CREATE | IN_MOVED_TO | IN_MOVE_SELF | IN_DELETE_SELF | IN_UNMOUNT | IN_ONLYDIR;
    const std::string link = "/proc/self/fd/" + std::to_string(directory);
    if (inotify_add_watch(fd.get(), link.c_str(), kNews) < 0) return false;
    ++watches;
    ++used;
    return true;
  }

  Fd fd;
  int64_t used = 0;
};

PathWatch::PathWatch() = default;
PathWatch::~PathWatch() = default;
PathWatch::PathWatch(PathWatch&&) noexcept = default;
PathWatch& PathWatch::operator=(PathWatch&&) noexcept = default;

PathWatch::Seen PathWatch::Look(const std::string& path, bool with_time) {
  Seen seen;
  seen.path = path;
  seen.with_time = with_time;
  struct stat info;
  if (lstat(path.c_str(), &info) < 0) return seen;
  seen.inode = info.st_ino;
  seen.mode = info.st_mode;
  seen.owner = info.st_uid;
  seen.group = info.st_gid;
  if (with_time) seen.mtime_ns = info.st_mtim.tv_sec * 1000000000ll + info.st_mtim.tv_nsec;
  return seen;
}

void PathWatch::AddDirectory(int fd, const std::string& path) {
  static const int64_t most = Share("/proc/sys/fs/inotify/max_user_instances", 8);
  if (!notify_ && instances < most) notify_ = std::make_unique<Notify>();
  if (!notify_ || !IsLocal(fd) || !notify_->Add(fd)) AddPath(path);
}

void PathWatch::AddPath(const std::string& path) { seen_.push_back(Look(path, true)); }

void PathWatch::AddAbsent(const std::string& path) {
  Seen nothing;
  nothing.path = path;
  seen_.push_back(std::move(nothing));
}

void PathWatch::AddAccess(const std::string& path) { seen_.push_back(Look(path, false)); }

bool PathWatch::Changed() const {
  pollfd news{notify_ ? notify_->fd.get() : -1, POLLIN, 0};
  if (poll(&news, 1, 0) != 0) return true;
  return std::ranges::any_of(
      seen_, [](const Seen& seen) { return Look(seen.path, seen.with_time) != seen; });
}

}  // namespace cloche::sys
