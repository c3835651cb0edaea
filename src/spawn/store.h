#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/fd.h"

namespace cloche::spawn {

// Where uppers live: one directory (system: a btrfs subvolume in the pool image) per sandbox.
//   once/   uppers of prepared and disposable sandboxes: leftovers at start
//   kept/   uppers of `cloche new`, by sandbox id; ID.next: a rollback in progress
//   snaps/  saved states of kept uppers, by snapshot id
//   masks/  layers that hide files, shared by sandboxes; leftovers at start (rootless: in a tmpfs)
//   trash/  to be deleted; being here *is* the record that it must be
class Store {
 public:
  // `scratch`: a tmpfs of our own. Without privileges masks live there, because the pool may lie in
  // the very home directory that a mask covers, and a layer must not contain another.
  static OrFailure<Store> Open(int state_dir, const std::string& state_path, int scratch,
                               bool privileged);

  int root() const { return root_.get(); }
  int masks() const { return masks_.get(); }
  int empty() const { return empty_.get(); }  // a directory with nothing in it

  OrFailure<sys::Fd> Create(const std::string& name);  // once/name
  // A sized tmpfs in place of once/name or, with an id, kept/id: the only limit that needs no
  // privileges, and the only one on the number of files. It lives as long as this daemon.
  OrFailure<sys::Fd> CreateInMemory(const std::string& name, const std::string& kept_id,
                                    uint32_t owner, uint64_t bytes, uint64_t inodes);
  // once -> kept. The directory's owner records whose it is, because ids come from cloched.
  OrFailure<sys::Fd> Keep(const std::string& name, const std::string& id, uint32_t owner);
  OrFailure<sys::Fd> OpenKept(const std::string& id, uint32_t owner);
  OrFailure<void> Discard(const std::string& name, bool kept);  // -> trash
  OrFailure<void> DiscardMask(const std::string& name);
  OrFailure<void> SetLimit(int upper, uint64_t bytes);
  // An overlay needs a few files of its own to be mounted: grows a full tmpfs by that many.
  OrFailure<void> LeaveRoom(int upper, const std::string& kept_id);
  // Counts the upper toward its owner's bounded share of the pool (shares.cc).
  OrFailure<void> Charge(int upper, uint32_t owner);
  bool ShareIsFull(uint32_t owner) const;
  static uint32_t FullFlags(int upper, const KernelLimits& limits);  // kFlagDiskFull ...
  // The space the upper takes, with its snapshots; in the pool, as of its last commit.
  std::optional<uint64_t> BytesOf(int upper) const;

  // Saved states (state_copies.cc). Each of these may take long and runs in a job, its own process.
  // A copy keeps the owner of its original, so nobody gets another user's files.
  OrFailure<void> Snapshot(const std::string& id, const std::string& snapshot);
  // Replaces kept/id by a copy of the snapshot; the old state is kept as snapshot `abandoned`.
  // After a crash at any point it is one of the two, complete.
  OrFailure<void> Rollback(const std::string& id, const std::string& snapshot,
                           const std::string& abandoned);
  OrFailure<void> Fork(const std::string& snapshot, const std::string& new_id);
  OrFailure<void> DropSnapshot(const std::string& snapshot);
  OrFailure<sys::Fd> OpenSnapshot(const std::string& snapshot, uint32_t owner);
  // The process that did it was killed: restores the state before. Only renames.
  OrFailure<void> RevertSnapshot(const std::string& snapshot);
  OrFailure<void> RevertRollback(const std::string& id, const std::string& abandoned);
  OrFailure<void> RevertFork(const std::string& new_id);
  // Removes everything else in snaps/ as left over from a crash. Returns those of `known` that do
  // not exist.
  OrFailure<std::vector<std::string>> Retain(std::vector<std::string> known);

  // Called by the keeper process, never in spawn's loop. False: read a task from `tasks` first. An
  // upper must be counted before it is removed, and its task was sent before it went into the
  // trash.
  bool EmptyTrash(int tasks);
  void FindStaleGroups();  // left by an earlier run
  void DropStaleGroups();
  void GrowIfNeeded();

 private:
  OrFailure<void> MakeImage(int state_dir, const std::string& state_path);
  OrFailure<void> OpenImage(int state_dir, const std::string& state_path);
  OrFailure<void> MoveToTrash(int dir, const std::string& name);
  OrFailure<void> Grow(uint64_t to_bytes);
  enum class Limit { kShared, kOwn };  // with the original, or separately
  OrFailure<void> Duplicate(int from_dir, const std::string& from, int to_dir,
                            const std::string& to, Limit limit);
  OrFailure<void> Group(sys::Fd upper, Limit limit);
  OrFailure<void> CompleteRollbacks();
  OrFailure<void> CompleteRollback(const std::string& id, const std::string& note);
  uint64_t ShareOfOne() const;
  static uint64_t GroupOf(int upper);  // the quota group that holds its limit, 0 = none
  sys::Fd root_, once_, kept_, snaps_, masks_, trash_, empty_;
  sys::Fd image_, loop_;
  std::string path_;  // of the pool
  bool btrfs_ = false;
  bool groups_ = false;  // a kept upper and its snapshots share one limit
  unsigned serial_ = 0;
  std::map<uint32_t, uint64_t> shares_;   // users' limits, as last set
  std::map<uint64_t, int> stale_groups_;  // to remove once the kernel allows it; attempts
};

}  // namespace cloche::spawn
