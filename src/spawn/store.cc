#include "spawn/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/spawn_protocol.h"
#include "sys/btrfs.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/kernel_abi.h"
#include "sys/mount.h"

namespace cloche::spawn {
namespace {

constexpr uint64_t kOwnFiles = 32;  // of overlays, in a tmpfs that counts files
constexpr uint64_t kGiB = 1ull << 30;
constexpr uint64_t kFirstSize = 4 * kGiB;
constexpr uint64_t kStep = 4 * kGiB;
constexpr uint64_t kLowWater = 3 * kGiB;
constexpr uint64_t kLeastSize = kGiB / 4;
constexpr const char* kImage = "pool.img";
constexpr int kMostAttempts =
    240;  // a minute; by then they have members, and return with the last one

sys::Fd OpenDirectory(int dir, const char* name) {
  mkdirat(dir, name, 0700);
  return sys::Fd(openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// All at once: entries that move while a directory is read may be missed.
std::vector<std::string> NamesIn(int dir) {
  std::vector<std::string> names;
  sys::Directory list(dir, ".");
  while (const dirent* entry = list.Next()) names.push_back(entry->d_name);
  return names;
}

uint64_t FreeBytes(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) < 0) return 0;
  return static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_bsize);
}

// Space that the host keeps for itself on the disk that holds the image.
uint64_t HostReserve(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) < 0) return 2 * kGiB;
  return std::min(2 * kGiB,
                  static_cast<uint64_t>(info.f_blocks) * static_cast<uint64_t>(info.f_bsize) / 10);
}

// One daemon per pool: the kernel would mount an image twice and destroy it. A predecessor that is
// exiting gets time to finish; the CLI waits a minute for us.
int Lock(int fd) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK) return -errno;
    timespec pause{0, 50000000};
    nanosleep(&pause, nullptr);
  }
  return -EWOULDBLOCK;
}

int MakeFileSystem(const std::string& path) {
  const char* arguments[] = {"mkfs.btrfs", "--quiet",    "--nodiscard", "--nodesize",
                             "4096",       "--metadata", "single",      "--data",
                             "single",     path.c_str(), nullptr};
  const char* environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", nullptr};
  pid_t child;
  for (const char* program : {"/usr/sbin/mkfs.btrfs", "/sbin/mkfs.btrfs", "/usr/bin/mkfs.btrfs"}) {
    if (access(program, X_OK) < 0) continue;
    int error = posix_spawn(&child, program, nullptr, nullptr, const_cast<char**>(arguments),
                            const_cast<char**>(environment));
    if (error != 0) return -error;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
  }
  return -ENOENT;
}

// A hole is space that somebody else can take: a write into it then succeeds, and is lost. Earlier
// versions mounted the pool with discard, which made holes; copying an image may, too.
OrFailure<void> FillHoles(int image, const std::string& path) {
  struct stat info;
  if (fstat(image, &info) < 0) return Failed(SpawnStep::kPool, "stat pool image", errno, path);
  if (int error = sys::Allocate(image, static_cast<uint64_t>(info.st_size)); error < 0)
    return Failed(SpawnStep::kPool, "fill holes of pool image", error, path);
  return {};
}

}  // namespace

// Half of what the pool can grow to.
uint64_t Store::ShareOfOne() const {
  struct statfs pool;
  if (fstatfs(root_.get(), &pool) < 0) return 0;
  const uint64_t size = static_cast<uint64_t>(pool.f_blocks) * static_cast<uint64_t>(pool.f_bsize);
  const uint64_t room = FreeBytes(image_.get()), reserve = HostReserve(image_.get());
  return (size + (room > reserve ? room - reserve : 0)) / 2;
}

// Under another name until it is a filesystem: a crash in between leaves no half-made pool. The
// name is used once: mkfs.btrfs opens it several times, and may outlive its parent.
OrFailure<void> Store::MakeImage(int state_dir, const std::string& state_path) {
  constexpr std::string_view kDraft = "pool.img.new.";
  for (const std::string& each : NamesIn(state_dir))
    if (each.starts_with(kDraft)) unlinkat(state_dir, each.c_str(), 0);
  const std::string name = std::string(kDraft) + std::to_string(sys::MonotonicMicros());
  const auto made = [&]() -> OrFailure<void> {
    const sys::Fd draft(
        openat(state_dir, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!draft.valid()) return Failed(SpawnStep::kPool, "create pool image", errno, state_path);
    const uint64_t room = FreeBytes(draft.get()), reserve = HostReserve(draft.get());
    const uint64_t size = std::min(kFirstSize, room > reserve ? (room - reserve) / 2 : 0);
    if (size < kLeastSize) return Failed(SpawnStep::kPool, "create pool image", ENOSPC, state_path);
    (void)sys::OverwriteInPlace(draft.get());
    if (int error = sys::Allocate(draft.get(), size); error < 0)
      return Failed(SpawnStep::kPool, "allocate pool image", error, state_path);
    if (int error = MakeFileSystem(state_path + "/" + name); error < 0)
      return Failed(SpawnStep::kPool, "mkfs.btrfs", error, state_path);
    // Somebody else may have made one meanwhile: then use that.
    if (renameat2(state_dir, name.c_str(), state_dir, kImage, RENAME_NOREPLACE) < 0 &&
        errno != EEXIST)
      return Failed(SpawnStep::kPool, "rename pool image", errno, state_path);
    return {};
  }();
  unlinkat(state_dir, name.c_str(), 0);
  return made;
}

OrFailure<void> Store::OpenImage(int state_dir, const std::string& state_path) {
  if (faccessat(state_dir, kImage, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
    if (auto made = MakeImage(state_dir, state_path); !made) return made;
  image_ = sys::Fd(openat(state_dir, kImage, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!image_.valid()) return Failed(SpawnStep::kPool, "open pool image", errno, state_path);
  if (int error = Lock(image_.get()); error < 0)
    return Failed(SpawnStep::kPool, "lock pool", error, state_path);
  if (auto filled = FillHoles(image_.get(), state_path + "/" + kImage); !filled) return filled;

  char device[32];
  if (int error = sys::AttachLoop(image_.get(), loop_, device); error < 0)
    return Failed(SpawnStep::kPool, "attach loop device", error, state_path + "/pool.img");
  sys::FsContext pool("btrfs");
  // ssd_spread keeps tree blocks together: among fragments of freed ones, a commit takes twice as
  // long. nodiscard, because discard is the default on non-rotating disks and makes holes.
  pool.Source(device).Flag("ssd_spread").Flag("nodiscard");
  int mount = pool.Mount(sys::kMountNoSuid | sys::kMountNoDev | sys::kMountNoAtime);
  if (mount < 0) return Failed(SpawnStep::kPool, "mount pool", mount, pool.failed());
  sys::Fd mounted(mount);
  root_ = sys::Fd(openat(mounted.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Attached (only in our own mount namespace), because kernels before 6.15 refuse idmapped clones
  // of a detached mount.
  OpenDirectory(state_dir, "pool");
  if (int error = sys::AttachMount(mounted.get(), state_dir, "pool"); error < 0)
    return Failed(SpawnStep::kPool, "attach pool", error, state_path);
  if (int error = sys::EnableQuota(root_.get()); error < 0)
    return Failed(SpawnStep::kPool, "enable quota", error);
  btrfs_ = true;
  groups_ = sys::HasSimpleQuota(root_.get());
  return {};
}

OrFailure<Store> Store::Open(int state_dir, const std::string& state_path, int scratch,
                             bool privileged) {
  Store store;
  store.path_ = state_path + "/pool";
  if (privileged) {
    if (auto opened = store.OpenImage(state_dir, state_path); !opened)
      return std::unexpected(opened.error());
  } else {
    store.root_ = OpenDirectory(state_dir, "pool");
    if (!store.root_.valid()) return Failed(SpawnStep::kPool, "open pool", errno, state_path);
    if (int error = Lock(store.root_.get()); error < 0)
      return Failed(SpawnStep::kPool, "lock pool", error, state_path);
  }
  int root = store.root_.get();
  store.once_ = OpenDirectory(root, "once");
  store.kept_ = OpenDirectory(root, "kept");
  store.snaps_ = OpenDirectory(root, "snaps");
  store.masks_ = OpenDirectory(privileged ? root : scratch, "masks");
  store.empty_ = OpenDirectory(privileged ? root : scratch, "empty");
  store.trash_ = OpenDirectory(root, "trash");
  for (const sys::Fd* dir :
       {&store.once_, &store.kept_, &store.snaps_, &store.masks_, &store.trash_, &store.empty_})
    if (!dir->valid()) return Failed(SpawnStep::kPool, "open pool directories", errno, state_path);
  for (int dir : {store.once_.get(), store.masks_.get()}) {
    for (const std::string& name : NamesIn(dir))
      if (auto moved = store.MoveToTrash(dir, name); !moved) return std::unexpected(moved.error());
  }
  if (auto completed = store.CompleteRollbacks(); !completed)
    return std::unexpected(completed.error());
  return store;
}

OrFailure<sys::Fd> Store::Create(const std::string& name) {
  int error = btrfs_ ? sys::CreateSubvolume(once_.get(), name.c_str())
                     : (mkdirat(once_.get(), name.c_str(), 0700) < 0 ? -errno : 0);
  if (error < 0) return Failed(SpawnStep::kPool, "create upper", error, name);
  sys::Fd upper(openat(once_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (upper.valid()) return upper;
  error = errno;
  (void)Discard(name, false);
  return Failed(SpawnStep::kPool, "open upper", error, name);
}

OrFailure<sys::Fd> Store::CreateInMemory(const std::string& name, const std::string& kept_id,
                                         uint32_t owner, uint64_t bytes, uint64_t inodes) {
  int dir = kept_id.empty() ? once_.get() : kept_.get();
  const std::string& entry = kept_id.empty() ? name : kept_id;
  if (mkdirat(dir, entry.c_str(), 0700) < 0)
    return Failed(SpawnStep::kPool, "create upper", errno, entry);
  sys::FsContext tmpfs("tmpfs");
  tmpfs.String("source", "cloche").Number("mode", 0700, 8).Number("size", bytes);
  if (inodes != 0) tmpfs.Number("nr_inodes", inodes);
  const auto failed = [&](const char* operation, int error, const char* detail) {
    (void)Discard(entry, !kept_id.empty());
    return Failed(SpawnStep::kPool, operation, error, detail);
  };
  sys::Fd mount(tmpfs.Mount(sys::kMountNoSuid | sys::kMountNoDev));
  if (!mount.valid()) return failed("mount upper", mount.get(), tmpfs.failed());
  if (int error = sys::AttachMount(mount.get(), dir, entry.c_str()); error < 0)
    return failed("attach upper", error, entry.c_str());
  sys::Fd upper(openat(mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!upper.valid()) return failed("open upper", errno, entry.c_str());
  // The directory's owner records whose it is, as in Keep. (Without privileges there is only one.)
  if (btrfs_ && fchown(upper.get(), owner, static_cast<gid_t>(-1)) < 0)
    return failed("own upper", errno, entry.c_str());
  return upper;
}

OrFailure<sys::Fd> Store::Keep(const std::string& name, const std::string& id, uint32_t owner) {
  if (fchownat(once_.get(), name.c_str(), owner, static_cast<gid_t>(-1), AT_SYMLINK_NOFOLLOW) < 0)
    return Failed(SpawnStep::kPool, "keep upper", errno, id);
  if (renameat2(once_.get(), name.c_str(), kept_.get(), id.c_str(), RENAME_NOREPLACE) < 0)
    return Failed(SpawnStep::kPool, "keep upper", errno, id);
  if (fsync(kept_.get()) < 0) return Failed(SpawnStep::kPool, "keep upper", errno, id);
  if (auto grouped =
          Group(sys::Fd(openat(kept_.get(), id.c_str(), O_RDONLY | O_CLOEXEC)), Limit::kOwn);
      !grouped)
    return std::unexpected(grouped.error());
  return OpenKept(id, owner);
}

OrFailure<sys::Fd> Store::OpenKept(const std::string& id, uint32_t owner) {
  sys::Fd upper(openat(kept_.get(), id.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!upper.valid()) return Failed(SpawnStep::kPool, "open kept upper", errno, id);
  struct stat info;
  if (fstat(upper.get(), &info) < 0 || info.st_uid != owner)
    return Failed(SpawnStep::kPool, "open somebody else's upper", EPERM, id);
  return upper;
}

OrFailure<void> Store::MoveToTrash(int dir, const std::string& name) {
  for (;;) {
    std::string target = name + "." + std::to_string(++serial_);
    if (renameat2(dir, name.c_str(), trash_.get(), target.c_str(), RENAME_NOREPLACE) == 0)
      return {};
    if (errno == ENOENT) return {};
    if (errno != EEXIST) return Failed(SpawnStep::kPool, "discard upper", errno, name);
  }
}

OrFailure<void> Store::Discard(const std::string& name, bool kept) {
  sys::DetachMount((path_ + (kept ? "/kept/" : "/once/") + name).c_str());  // if in memory
  return MoveToTrash(kept ? kept_.get() : once_.get(), name);
}

OrFailure<void> Store::DiscardMask(const std::string& name) {
  if (btrfs_) return MoveToTrash(masks_.get(), name);
  if (int error = sys::RemoveTree(masks_.get(), name.c_str()); error < 0)
    return Failed(SpawnStep::kPool, "remove mask", error, name);
  return {};
}

OrFailure<void> Store::SetLimit(int upper, uint64_t bytes) {
  if (!btrfs_) return {};
  if (uint64_t group = GroupOf(upper); group != 0) {
    if (int error = sys::LimitQuotaGroup(root_.get(), group, bytes); error < 0)
      return Failed(SpawnStep::kPool, "set disk limit", error);
    bytes = 0;  // instead, not in addition
  }
  // Through the pool's root: a subvolume at its limit has no room to record a new one.
  const int64_t id = sys::SubvolumeId(upper);
  if (id < 0) return Failed(SpawnStep::kPool, "find subvolume", static_cast<int>(id));
  if (int error = sys::LimitQuotaGroup(root_.get(), static_cast<uint64_t>(id), bytes); error < 0)
    return Failed(SpawnStep::kPool, "set disk limit", error);
  return {};
}

OrFailure<void> Store::LeaveRoom(int upper, const std::string& kept_id) {
  struct statfs info;
  if (fstatfs(upper, &info) < 0) return Failed(SpawnStep::kPool, "stat upper", errno, kept_id);
  if (info.f_files == 0 || info.f_ffree >= kOwnFiles) return {};
  const uint64_t files = info.f_files + kOwnFiles - info.f_ffree;
  if (int error = sys::SetTmpfsFiles((path_ + "/kept/" + kept_id).c_str(), files); error < 0)
    return Failed(SpawnStep::kPool, "enlarge upper", error, kept_id);
  return {};
}

// The kernel tells only the command that a limit is met. So we try to get a little space ourselves:
// if we cannot, the command could not either.
uint32_t Store::FullFlags(int upper, const KernelLimits& limits) {
  const uint64_t room = std::min<uint64_t>(limits.disk_bytes / 16, 4 << 20);
  struct statfs info;
  if (fstatfs(upper, &info) == 0 && info.f_type == TMPFS_MAGIC) {
    const uint64_t free = info.f_bfree * static_cast<uint64_t>(info.f_bsize);
    return (info.f_blocks != 0 && free < room ? kFlagDiskFull : 0) |
           (info.f_files != 0 && info.f_ffree == 0 ? kFlagFilesFull : 0);
  }
  if (room == 0) return 0;
  sys::Fd file(openat(upper, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  const bool got = file.valid() && fallocate(file.get(), 0, 0, static_cast<off_t>(room)) == 0;
  return !got && errno == EDQUOT ? kFlagDiskFull : 0;
}

std::optional<uint64_t> Store::BytesOf(int upper) const {
  struct statfs info;
  if (fstatfs(upper, &info) < 0) return std::nullopt;
  if (info.f_type == TMPFS_MAGIC)
    return (info.f_blocks - info.f_bfree) * static_cast<uint64_t>(info.f_bsize);
  if (!btrfs_) return std::nullopt;
  const uint64_t group = GroupOf(upper);
  const int64_t id = group != 0 ? 0 : sys::SubvolumeId(upper);
  if (id < 0) return std::nullopt;
  return sys::QuotaGroupBytes(root_.get(), group != 0 ? group : static_cast<uint64_t>(id));
}

bool Store::EmptyTrash(int tasks) {
  const std::vector<std::string> names = NamesIn(trash_.get());
  if (pollfd more{tasks, POLLIN, 0}; poll(&more, 1, 0) > 0) return false;
  for (const std::string& name : names) {
    int64_t id = -1;
    uint64_t group = 0;
    if (btrfs_) {
      sys::Fd upper(openat(trash_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (upper.valid()) id = sys::SubvolumeId(upper.get());
      if (upper.valid()) group = GroupOf(upper.get());
      upper.Reset();
      if (sys::DestroySubvolume(trash_.get(), name.c_str()) == 0) {
        if (id > 0) stale_groups_[static_cast<uint64_t>(id)] = 0;
        if (group != 0) stale_groups_[group] = 0;
        continue;
      }
    }
    sys::RemoveTree(trash_.get(), name.c_str());
  }
  DropStaleGroups();
  return true;
}

void Store::FindStaleGroups() {
  if (!btrfs_) return;
  for (const uint64_t group : sys::QuotaGroups(root_.get())) {
    const bool of_subvolume = group >> 48 == 0;
    if (!of_subvolume || (group >= 256 && !sys::SubvolumeExists(root_.get(), group)))
      stale_groups_[group] = 0;
  }
}

// The kernel refuses while the cleaner still holds the tree, and if a group has members. Groups of
// subvolumes have lower numbers than those that contain them, so they go first.
void Store::DropStaleGroups() {
  for (auto each = stale_groups_.begin(); each != stale_groups_.end();) {
    const int error = sys::DestroyQuotaGroup(root_.get(), each->first);
    const bool over = error == 0 || error == -ENOENT || ++each->second > kMostAttempts;
    each = over ? stale_groups_.erase(each) : std::next(each);
  }
}

OrFailure<void> Store::Grow(uint64_t to_bytes) {
  if (int error = sys::Allocate(image_.get(), to_bytes); error < 0)
    return Failed(SpawnStep::kPool, "grow pool image", error);
  if (int error = sys::RefreshLoopSize(loop_.get()); error < 0)
    return Failed(SpawnStep::kPool, "grow loop device", error);
  if (int error = sys::ResizeToDevice(root_.get()); error < 0)
    return Failed(SpawnStep::kPool, "grow pool", error);
  return {};
}

void Store::GrowIfNeeded() {
  if (!btrfs_ || FreeBytes(root_.get()) >= kLowWater) return;
  struct stat info;
  if (fstat(image_.get(), &info) < 0) return;
  uint64_t room = FreeBytes(image_.get());
  uint64_t reserve = HostReserve(image_.get());
  if (room < reserve + kLeastSize) return;  // a sandbox then meets ENOSPC before its own limit
  (void)Grow(static_cast<uint64_t>(info.st_size) + std::min(kStep, room - reserve));
}

}  // namespace cloche::spawn
