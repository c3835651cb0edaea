#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/spawn_protocol.h"
#include "spawn/store.h"
#include "sys/btrfs.h"
#include "sys/copy_tree.h"
#include "sys/directory.h"

// Saved states of kept uppers. On btrfs a copy is a snapshot, whatever its size; elsewhere it is
// made file by file under a name that the next start removes, and renamed when complete.
namespace cloche::spawn {
namespace {

// kept/ID.next: a symlink to "SNAPSHOT ABANDONED" that exists during a rollback.
constexpr const char* kNext = ".next";
constexpr const char* kGroupAttribute = "trusted.cloche.group";

Failure PoolFailure(const char* operation, int error, const std::string& name) {
  return {SpawnStep::kPool, operation, error < 0 ? -error : error, name};
}

bool Exists(int dir, const std::string& name) {
  return faccessat(dir, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

sys::Fd OpenUpper(int dir, const std::string& name) {
  return sys::Fd(openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string DraftOf(const std::string& name) { return "draft-" + name; }

}  // namespace

uint64_t Store::GroupOf(int upper) {
  char text[32] = {};
  if (fgetxattr(upper, kGroupAttribute, text, sizeof text - 1) <= 0) return 0;
  return sys::QuotaGroupId(strtoull(text, nullptr, 10));
}

// A copy has the original's attribute: it joins that group, or starts its own.
OrFailure<void> Store::Group(sys::Fd upper, Limit limit) {
  if (!groups_) return {};
  const int64_t id = upper.valid() ? sys::SubvolumeId(upper.get()) : -errno;
  if (id < 0) return std::unexpected(PoolFailure("find subvolume", static_cast<int>(id), ""));
  const auto subvolume = static_cast<uint64_t>(id);
  const std::string text = std::to_string(id);
  uint64_t group = GroupOf(upper.get());
  if (limit == Limit::kOwn) {
    group = sys::QuotaGroupId(subvolume);
    if (int error = sys::CreateQuotaGroup(root_.get(), group); error < 0 && error != -EEXIST)
      return std::unexpected(PoolFailure("make quota group", error, text));
    if (fsetxattr(upper.get(), kGroupAttribute, text.data(), text.size(), 0) < 0)
      return std::unexpected(PoolFailure("name quota group", errno, text));
  }
  if (group == 0) return {};  // from before there were groups
  if (int error = sys::JoinQuotaGroup(root_.get(), subvolume, group); error < 0)
    return std::unexpected(PoolFailure("join quota group", error, text));
  struct stat info;
  if (fstat(upper.get(), &info) < 0) return std::unexpected(PoolFailure("find owner", errno, text));
  return Charge(upper.get(), info.st_uid);
}

// The copy has the same owner.
OrFailure<void> Store::Duplicate(int from_dir, const std::string& from, int to_dir,
                                 const std::string& to, Limit limit) {
  sys::Fd source = OpenUpper(from_dir, from);
  if (!source.valid()) return std::unexpected(PoolFailure("open saved state", errno, from));
  if (btrfs_) {
    if (int error = sys::SnapshotSubvolume(source.get(), to_dir, to.c_str()); error < 0)
      return std::unexpected(PoolFailure("snapshot", error, from));
    auto grouped = Group(OpenUpper(to_dir, to), limit);
    if (!grouped) (void)MoveToTrash(to_dir, to);
    return grouped;
  }
  const std::string draft = DraftOf(to);
  if (mkdirat(once_.get(), draft.c_str(), 0700) < 0)
    return std::unexpected(PoolFailure("make draft", errno, to));
  sys::Fd target = OpenUpper(once_.get(), draft);
  sys::CopyCount count;
  int error = target.valid() ? sys::CopyTree(source.get(), target.get(), count) : -errno;
  if (error == 0 && syncfs(target.get()) < 0) error = -errno;
  if (error == 0 && renameat2(once_.get(), draft.c_str(), to_dir, to.c_str(), RENAME_NOREPLACE) < 0)
    error = -errno;
  if (error == 0 && fsync(to_dir) < 0) error = -errno;
  if (error == 0) return {};
  (void)MoveToTrash(once_.get(), draft);
  return std::unexpected(PoolFailure("copy upper", error, from));
}

OrFailure<void> Store::Snapshot(const std::string& id, const std::string& snapshot) {
  return Duplicate(kept_.get(), id, snaps_.get(), snapshot, Limit::kShared);
}

OrFailure<void> Store::Rollback(const std::string& id, const std::string& snapshot,
                                const std::string& abandoned) {
  struct stat head, saved;
  if (fstatat(kept_.get(), id.c_str(), &head, AT_SYMLINK_NOFOLLOW) < 0)
    return std::unexpected(PoolFailure("open kept upper", errno, id));
  if (fstatat(snaps_.get(), snapshot.c_str(), &saved, AT_SYMLINK_NOFOLLOW) < 0)
    return std::unexpected(PoolFailure("open saved state", errno, snapshot));
  if (head.st_uid != saved.st_uid)
    return std::unexpected(PoolFailure("open somebody else's upper", EPERM, snapshot));
  // The note says how to complete it. On btrfs all of this reaches the disk with the snapshot.
  const std::string note = id + kNext;
  const std::string text = snapshot + " " + abandoned;
  unlinkat(kept_.get(), note.c_str(), 0);
  if (symlinkat(text.c_str(), kept_.get(), note.c_str()) < 0)
    return std::unexpected(PoolFailure("note rollback", errno, id));
  if (renameat2(kept_.get(), id.c_str(), snaps_.get(), abandoned.c_str(), RENAME_NOREPLACE) < 0) {
    const int error = errno;
    unlinkat(kept_.get(), note.c_str(), 0);
    return std::unexpected(PoolFailure("set aside upper", error, id));
  }
  auto made = Duplicate(snaps_.get(), snapshot, kept_.get(), id, Limit::kShared);
  if (!made &&
      renameat2(snaps_.get(), abandoned.c_str(), kept_.get(), id.c_str(), RENAME_NOREPLACE) < 0)
    return std::unexpected(PoolFailure("take back upper", errno, id));
  unlinkat(kept_.get(), note.c_str(), 0);
  return made;
}

OrFailure<void> Store::CompleteRollbacks() {
  std::vector<std::string> names;
  sys::Directory list(kept_.get(), ".");
  while (const dirent* entry = list.Next()) names.push_back(entry->d_name);
  for (const std::string& name : names) {
    if (!name.ends_with(kNext)) continue;
    const std::string id = name.substr(0, name.size() - std::string_view(kNext).size());
    if (auto completed = CompleteRollback(id, name); !completed) return completed;
  }
  return {};
}

// A rollback that cannot be completed (the disk is full, the snapshot is gone) is reverted. If that
// is impossible, too, one lost sandbox must not keep all others from starting.
OrFailure<void> Store::CompleteRollback(const std::string& id, const std::string& note) {
  char text[80] = {};
  if (readlinkat(kept_.get(), note.c_str(), text, sizeof text - 1) < 0)
    return std::unexpected(PoolFailure("read note of a rollback", errno, id));
  const std::string both = text;
  const std::string snapshot = both.substr(0, both.find(' '));
  const std::string abandoned = both.substr(std::min(both.size(), snapshot.size() + 1));
  if (!Exists(kept_.get(), id) &&
      !Duplicate(snaps_.get(), snapshot, kept_.get(), id, Limit::kShared) &&
      Exists(snaps_.get(), abandoned) &&
      renameat2(snaps_.get(), abandoned.c_str(), kept_.get(), id.c_str(), RENAME_NOREPLACE) < 0)
    return std::unexpected(PoolFailure("take back upper", errno, id));
  if (unlinkat(kept_.get(), note.c_str(), 0) < 0)
    return std::unexpected(PoolFailure("complete rollback", errno, id));
  return {};
}

OrFailure<void> Store::RevertSnapshot(const std::string& snapshot) {
  if (auto moved = MoveToTrash(once_.get(), DraftOf(snapshot)); !moved) return moved;
  return MoveToTrash(snaps_.get(), snapshot);
}

OrFailure<void> Store::RevertRollback(const std::string& id, const std::string& abandoned) {
  if (auto moved = MoveToTrash(once_.get(), DraftOf(id)); !moved) return moved;
  if (Exists(snaps_.get(), abandoned)) {
    if (auto moved = MoveToTrash(kept_.get(), id); !moved) return moved;
    if (renameat2(snaps_.get(), abandoned.c_str(), kept_.get(), id.c_str(), RENAME_NOREPLACE) < 0)
      return std::unexpected(PoolFailure("take back upper", errno, id));
  }
  unlinkat(kept_.get(), (id + kNext).c_str(), 0);
  return {};
}

OrFailure<void> Store::RevertFork(const std::string& new_id) {
  if (auto moved = MoveToTrash(once_.get(), DraftOf(new_id)); !moved) return moved;
  return MoveToTrash(kept_.get(), new_id);
}

// Data shared with the snapshot is counted there; only additions count for the fork.
OrFailure<void> Store::Fork(const std::string& snapshot, const std::string& new_id) {
  return Duplicate(snaps_.get(), snapshot, kept_.get(), new_id, Limit::kOwn);
}

OrFailure<void> Store::DropSnapshot(const std::string& snapshot) {
  return MoveToTrash(snaps_.get(), snapshot);
}

OrFailure<sys::Fd> Store::OpenSnapshot(const std::string& snapshot, uint32_t owner) {
  sys::Fd upper = OpenUpper(snaps_.get(), snapshot);
  struct stat info;
  if (!upper.valid() || fstat(upper.get(), &info) < 0)
    return std::unexpected(PoolFailure("open saved state", errno, snapshot));
  if (info.st_uid != owner)
    return std::unexpected(PoolFailure("open somebody else's upper", EPERM, snapshot));
  return upper;
}

OrFailure<std::vector<std::string>> Store::Retain(std::vector<std::string> known) {
  std::vector<std::string> found, missing;
  sys::Directory list(snaps_.get(), ".");
  while (const dirent* entry = list.Next()) found.push_back(entry->d_name);
  if (list.error() != 0) return std::unexpected(PoolFailure("list snapshots", list.error(), ""));
  std::ranges::sort(found);
  std::ranges::sort(known);
  for (const std::string& name : found)
    if (!std::ranges::binary_search(known, name))
      if (auto moved = MoveToTrash(snaps_.get(), name); !moved)
        return std::unexpected(moved.error());
  std::ranges::set_difference(known, found, std::back_inserter(missing));
  return missing;
}

}  // namespace cloche::spawn
