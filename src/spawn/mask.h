#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/failure.h"

#include "sys/fd.h"
#include "sys/path_watch.h"

namespace cloche::spawn {

// The layer between a lower and the upper that hides files: whiteouts, blanked shadow files. It is
// built once per spec and shared, so that a sandbox's upper holds only its own changes.
class Mask {
 public:
  // Builds it below `dir`/`name`: one directory per overlay of the spec, "0", "1", ... `lowers` are
  // the overlays' lower directories, in the same order.
  static OrFailure<Mask> Build(int dir, const std::string& name, const SandboxSpec& spec,
                               const std::vector<int>& lowers);

  const std::string& name() const { return name_; }
  int root() const { return root_.get(); }
  bool HasLayer(size_t overlay) const { return used_[overlay]; }
  // False if a directory that glob rules searched has changed since (new names may match), or a
  // file of which this holds a blanked copy.
  bool UpToDate() const { return !watch_.Changed(); }

 private:
  std::string name_;
  sys::Fd root_;
  std::vector<bool> used_;
  sys::PathWatch watch_;
  friend class MaskBuilder;
};

// Index into spec.mounts of the writable or read-only overlay that shows `path`, and the rest of
// the path below its target; -1 if another kind of mount covers it.
std::pair<int, std::string> OverlayOf(const SandboxSpec& spec, const std::string& path);

}  // namespace cloche::spawn
