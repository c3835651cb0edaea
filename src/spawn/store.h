#pragma once

#include <string>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/fd.h"

namespace cloche::spawn {

// Where uppers live: one directory (system: a btrfs subvolume in the pool image) per sandbox.
//   once/   uppers of prepared and disposable sandboxes: whatever is here at start is rubbish
//   kept/   uppers of `cloche new`, by sandbox id
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
  static uint32_t FullFlags(int upper, const KernelLimits& limits);  // kFlagDiskFull ...

  // Called by the keeper process, never in spawn's loop.
  void EmptyTrash();
  void GrowIfNeeded();

 private:
  Outcome<void> OpenImage(int state_dir, const std::string& state_path);
  Outcome<void> MoveToTrash(int dir, const std::string& name);
  Outcome<void> Grow(uint64_t to_bytes);
  sys::Fd root_, once_, kept_, masks_, trash_, empty_;
  sys::Fd image_, loop_;
  std::string path_;  // of the pool
  bool btrfs_ = false;
  unsigned serial_ = 0;
};

}  // namespace cloche::spawn
