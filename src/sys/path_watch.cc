#include "sys/path_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "sys/file.h"
#include "sys/process.h"

namespace cloche::sys {
namespace {

constexpr long kZfs = 0x2fc12fc1, kBcachefs = 0xca451a4e;

// Whether the kernel sees every change. (On network filesystems, others write, too.)
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

// Also for paths longer than the kernel takes at once; no link is on the way to these.
bool Stat(const std::string& path, struct stat& info) {
  if (lstat(path.c_str(), &info) == 0) return true;
  if (errno != ENAMETOOLONG) return false;
  const size_t slash = path.rfind('/');
  const Fd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd above(OpenBeneath(root.get(), path.substr(1, slash - 1).c_str(), O_PATH, false));
  return above.valid() &&
         fstatat(above.get(), path.c_str() + slash + 1, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

int64_t instances = 0, watches = 0;  // in use by all of ours

}  // namespace

struct PathWatch::Notify {
  Notify() : fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) { ++instances; }
  ~Notify() {
    --instances;
    watches -= used;
  }
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;

  // The watch descriptor; one per directory. -1: none left.
  int Add(int directory) {
    static const int64_t most = Share("/proc/sys/fs/inotify/max_user_watches", 4);
    if (watches >= most) return -1;
    constexpr uint32_t kNews =
        IN_CREATE | IN_MOVED_TO | IN_MOVE_SELF | IN_DELETE_SELF | IN_UNMOUNT | IN_ONLYDIR;
    const std::string link = "/proc/self/fd/" + std::to_string(directory);
    const int watch = inotify_add_watch(fd.get(), link.c_str(), kNews);
    if (watch >= 0 && directories.try_emplace(watch).second) {
      ++watches;
      ++used;
    }
    return watch;
  }

  // Whether any event since then counts; remembers it.
  bool Heard() {
    alignas(inotify_event) char buffer[4096];
    for (ssize_t size; !heard && (size = read(fd.get(), buffer, sizeof buffer)) > 0;) {
      for (const char* at = buffer; at < buffer + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        at += sizeof *event + event->len;
        const auto found = directories.find(event->wd);
        heard = heard || event->len == 0 || found == directories.end() || found->second.whole ||
                found->second.names.contains(event->name);
      }
    }
    return heard;
  }

  struct Watched {
    bool whole = false;
    std::set<std::string, std::less<>> names;  // otherwise only these
  };
  Fd fd;
  int64_t used = 0;
  bool heard = false;
  std::map<int, Watched> directories;
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
  if (!Stat(path, info)) return seen;
  seen.inode = info.st_ino;
  seen.mode = info.st_mode;
  seen.owner = info.st_uid;
  seen.group = info.st_gid;
  if (with_time) seen.mtime_ns = info.st_mtim.tv_sec * 1000000000ll + info.st_mtim.tv_nsec;
  return seen;
}

bool PathWatch::MayNotify() {
  static const int64_t most = Share("/proc/sys/fs/inotify/max_user_instances", 8);
  if (!notify_ && instances < most) notify_ = std::make_unique<Notify>();
  return notify_ != nullptr;
}

void PathWatch::AddDirectory(int fd, const std::string& path) {
  const int watch = MayNotify() && IsLocal(fd) ? notify_->Add(fd) : -1;
  if (watch < 0) return AddPath(path);
  notify_->directories[watch].whole = true;
}

void PathWatch::AddName(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string above = slash == 0 ? "/" : path.substr(0, slash);
  if (above != named_) {
    const Fd fd(open(above.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
    named_watch_ = fd.valid() && MayNotify() && IsLocal(fd.get()) ? notify_->Add(fd.get()) : -1;
    named_ = above;
  }
  if (named_watch_ >= 0) {
    notify_->directories[named_watch_].names.insert(path.substr(slash + 1));
    return;
  }
  // The times of a link tell when it was made; those of a directory tell what happens in it.
  Seen seen = Look(path, true);
  if (!S_ISLNK(seen.mode)) seen = Look(path, false);
  seen_.push_back(std::move(seen));
}

void PathWatch::AddPath(const std::string& path) { seen_.push_back(Look(path, true)); }

void PathWatch::AddAbsent(const std::string& path) {
  Seen nothing;
  nothing.path = path;
  seen_.push_back(std::move(nothing));
}

void PathWatch::AddAccess(const std::string& path) { seen_.push_back(Look(path, false)); }

bool PathWatch::Changed() const {
  if (notify_ && notify_->Heard()) return true;
  return std::ranges::any_of(
      seen_, [](const Seen& seen) { return Look(seen.path, seen.with_time) != seen; });
}

}  // namespace cloche::sys
