#include "change/apply/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <set>

namespace cloche::apply {
namespace {

constexpr size_t kFew = 16;

std::unexpected<Error> Failed(int error) {
  return Fail(error == ENOSPC || error == EDQUOT ? Code::kExhausted : Code::kUnavailable,
              fmt::format("sync: {}", strerror(error)));
}

// These filesystems write metadata changes in order: an fsync of our journal, which has grown,
// flushes every earlier change of a name, owner or mode.
bool KeepsOrder(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) < 0) return false;
  const auto type = static_cast<long>(info.f_type);
  return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == TMPFS_MAGIC;
}

uint64_t DeviceOf(int fd) {
  struct stat info {};
  (void)fstat(fd, &info);
  return info.st_dev;
}

// Whether the promotion is small and all of it is on one such filesystem.
bool IsFew(const Promotion& promotion, const Store::Entry& entry, const Realities& realities) {
  const uint64_t store = DeviceOf(entry.files.get());
  return promotion.steps.size() <= kFew && promotion.side_stores.empty() &&
         std::ranges::all_of(realities | std::views::values,
                             [&](const Reality& each) { return each.device() == store; }) &&
         KeepsOrder(entry.files.get());
}

Status Whole(const Store::Entry& entry, const Realities& realities) {
  // The store comes last, because it says that all the rest is there.
  std::set<uint64_t> synced = {DeviceOf(entry.files.get())};
  for (const sys::Fd& side_store : entry.side_stores)
    if (synced.insert(DeviceOf(side_store.get())).second && syncfs(side_store.get()) < 0)
      return Failed(errno);
  for (const auto& [target, reality] : realities)
    if (synced.insert(reality.device()).second && reality.Sync() < 0) return Failed(errno);
  if (syncfs(entry.files.get()) < 0) return Failed(errno);
  return {};
}

// False: it cannot be opened, so it cannot be synced alone.
Result<bool> SyncFile(int directory, const std::string& name) {
  struct stat info;
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0)
    return errno == ENOENT ? Result<bool>(true) : Failed(errno);
  if (!S_ISREG(info.st_mode)) return true;  // it has no content
  const sys::Fd fd(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return false;
  return fsync(fd.get()) < 0 ? Failed(errno) : Result<bool>(true);
}

Result<bool> SyncFew(const Promotion& promotion, const Store::Entry& entry) {
  for (const Step& step : promotion.steps) {
    ASSIGN_OR_RETURN(const bool done, SyncFile(entry.files.get(), std::to_string(step.number)));
    if (!done) return false;
  }
  ASSIGN_OR_RETURN(const bool done, SyncFile(entry.directory.get(), "journal"));
  if (!done) return false;
  // Nearly free where order is kept; needed if such a filesystem has no journal.
  const sys::Fd store(openat(entry.directory.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const int each : {entry.files.get(), entry.directory.get(), store.get()})
    if (fsync(each) < 0) return Failed(errno);
  return true;
}

// Syncs the directories in which names came or went.
Status SyncDirectories(const Promotion& promotion, const Store::Entry& entry,
                       const Realities& realities) {
  for (const Step& step : promotion.steps) {
    const auto at = realities.at(step.target).Find(step.path);
    if (at && fsync(at->directory->get()) < 0 && errno != EBADF) return Failed(errno);
  }
  return fsync(entry.files.get()) < 0 ? Failed(errno) : Status();
}

}  // namespace

Status SyncPrepared(const Promotion& promotion, const Store::Entry& entry,
                    const Realities& realities) {
  if (IsFew(promotion, entry, realities)) {
    ASSIGN_OR_RETURN(const bool done, SyncFew(promotion, entry));
    if (done) return {};
  }
  return Whole(entry, realities);
}

Status SyncReality(const Promotion& promotion, const Store::Entry& entry,
                   const Realities& realities) {
  if (IsFew(promotion, entry, realities)) {
    ASSIGN_OR_RETURN(const bool done, SyncFile(entry.directory.get(), "journal"));
    if (done) return SyncDirectories(promotion, entry, realities);
  }
  return Whole(entry, realities);
}

}  // namespace cloche::apply
