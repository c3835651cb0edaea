#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/fd.h"

namespace cloche::spawn {

// Where uppers live: one directory (system: a btrfs subvolume in the pool image) per sandbox.
//   once/   uppers of prepared and disposable sandboxes: whatever is here at start is rubbish
//   kept/   uppers of `cloche new`, by sandbox id; ID.next: a rollback that is under way
//   snaps/  saved states of kept uppers, by snapshot id
//   masks/  layers that hide files, shared by sandboxes; rubbish at start (rootless: in a tmpfs)
//   trash/  to be deleted; being here *is* the record that it must be
class Store {
 public:
  // `scratch`: a tmpfs of our own. Without privileges masks live there, because the pool may lie in
  // the very home directory that a mask covers, and a layer may not contain another.
  static Outcome<Store> Open(int state_dir, const std::string& state_path, int scratch,
                             bool privileged);

  int root() const { return root_.get(); }
  int masks() const { return masks_.get(); }
  int empty() const { return empty_.get(); }  // a directory with nothing in it
  int trash() const { return trash_.get(); }

  Outcome<sys::Fd> Create(const std::string& name);  // once/name
  // A sized tmpfs in place of once/name or, with an id, kept/id: the only limit without privileges,
  // and the only one of files. It lives as long as this daemon.
  Outcome<sys::Fd> CreateInMemory(const std::string& name, const std::string& kept_id,
                                  uint32_t owner, uint64_t bytes, uint64_t inodes);
  // once -> kept. The directory's owner says whose it is: ids come from cloched.
  Outcome<sys::Fd> Keep(const std::string& name, const std::string& id, uint32_t owner);
  Outcome<sys::Fd> OpenKept(const std::string& id, uint32_t owner);
  Outcome<void> Discard(const std::string& name, bool kept);  // -> trash
  Outcome<void> DiscardMask(const std::string& name);
  Outcome<void> SetLimit(int upper, uint64_t bytes);
  // An overlay needs a few files of its own to be mounted: a full tmpfs gets so many more.
  Outcome<void> LeaveRoom(int upper, const std::string& kept_id);
  // Counts the upper in what its owner has of the pool, which is bounded (shares.cc).
  Outcome<void> Charge(int upper, uint32_t owner);
  bool ShareIsFull(uint32_t owner) const;
  static uint32_t FullFlags(int upper, const KernelLimits& limits);  // kFlagDiskFull ...

  // Saved states (snapshots.cc). Each takes its time and is called by a process of its own. Owners
  // are those of what is copied: nobody gets another's files.
  Outcome<void> Snapshot(const std::string& id, const std::string& snapshot);
  // kept/id becomes a copy of the snapshot; what it was is kept as snapshot `abandoned`. After a
  // crash at any point it is either of the two, whole.
  Outcome<void> Rollback(const std::string& id, const std::string& snapshot,
                         const std::string& abandoned);
  Outcome<void> Fork(const std::string& snapshot, const std::string& new_id);
  Outcome<void> DropSnapshot(const std::string& snapshot);
  Outcome<sys::Fd> OpenSnapshot(const std::string& snapshot, uint32_t owner);
  // The process that did it was killed: as if it had not begun. Renames only.
  Outcome<void> RevertSnapshot(const std::string& snapshot);
  Outcome<void> RevertRollback(const std::string& id, const std::string& abandoned);
  Outcome<void> RevertFork(const std::string& new_id);
  // Everything else in snaps/ is rubbish of a crash. Returns those of `known` that do not exist.
  Outcome<std::vector<std::string>> Retain(std::vector<std::string> known);

  // Called by the keeper process, never in spawn's loop.
  void EmptyTrash();
  void FindStaleGroups();  // that an earlier run left
  void DropStaleGroups();
  void GrowIfNeeded();

 private:
  Outcome<void> MakeImage(int state_dir, const std::string& state_path);
  Outcome<void> OpenImage(int state_dir, const std::string& state_path);
  Outcome<void> MoveToTrash(int dir, const std::string& name);
  Outcome<void> Grow(uint64_t to_bytes);
  enum class Limit { kShared, kOwn };  // with what it was copied from
  Outcome<void> Duplicate(int from_dir, const std::string& from, int to_dir, const std::string& to,
                          Limit limit);
  Outcome<void> Group(sys::Fd upper, Limit limit);
  Outcome<void> CompleteRollbacks();
  Outcome<void> CompleteRollback(const std::string& id, const std::string& note);
  uint64_t ShareOfOne() const;
  static uint64_t GroupOf(int upper);  // the quota group that holds its limit, 0 = none
  sys::Fd root_, once_, kept_, snaps_, masks_, trash_, empty_;
  sys::Fd image_, loop_;
  std::string path_;  // of the pool
  bool btrfs_ = false;
  bool groups_ = false;  // a kept upper and its snapshots share one limit
  unsigned serial_ = 0;
  std::map<uint32_t, uint64_t> shares_;   // limits of users, as they were last set
  std::map<uint64_t, int> stale_groups_;  // to be removed when the kernel lets them go; attempts
};

}  // namespace cloche::spawn
