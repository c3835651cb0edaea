#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/state_layout.h"
#include "change/walk/layer_file.h"

namespace cloche::walk {

// A path where an upper and its base may differ. At most one side is missing.
struct Entry {
  std::string path;
  std::string old_path;  // where the old side is, if it moved
  std::optional<LayerFile> before;
  std::optional<LayerFile> after;
  bool implied = false;  // a directory above it already reports the move
  bool top = false;      // top of an overlay
  bool unseen = false;   // no sign of a deletion: its directory shows nothing of the base
};

// Directories that could not be read; the answer is then incomplete.
struct Unreadable {
  static constexpr size_t kMostPaths = 1000;
  uint64_t count = 0;
  std::vector<std::string> paths;  // the first of them

  void Add(std::string path);
  void Add(const Unreadable& others);
};

// How to report a directory that was renamed as a whole.
enum class Renames {
  kBrief,   // one entry for it, and one for each difference in it
  kFiles,   // and one for every file in it; only if neither place is in the way of
            // another, so that their order does not matter
  kExpand,  // deleted there, added here
};

// The changes of one overlay's upper, in ascending byte order of the path. Walks the upper, and of
// the base only what was deleted.
class SlotWalk {
 public:
  SlotWalk(const StateLayout& layout, uint32_t slot, bool of_other, Renames renames);
  Result<std::optional<Entry>> Next();                          // nullopt: no more
  const Unreadable& unreadable() const { return unreadable_; }  // so far

 private:
  // A base directory, and the mask that hides parts of it.
  struct Lower {
    SharedFd directory, mask;
    std::string path;  // in the base, below the target
    bool valid() const { return directory != nullptr || mask != nullptr; }
  };
  // One name in such a directory.
  struct Shown {
    std::optional<LayerFile> place;  // nullopt: hidden, or not there
    std::optional<LayerFile> mask;   // hides parts of it
  };
  struct Frame {
    std::string path;  // below the target
    SharedFd upper;
    Lower origin;                               // shows through the upper
    Lower before;                               // what the base has at this path
    bool same = true;                           // both are the same directory
    bool renamed = false;                       // `before` is elsewhere in the base
    bool lost = false;                          // `origin` is unknown
    bool unseen = false;                        // as in Entry
    std::map<std::string, std::string> events;  // name to visit; with a slash: to enter
    std::map<std::string, Frame> children;      // to enter
  };

  Result<std::optional<Entry>> Visit(Frame& frame, const std::string& name);
  void AddNames(Frame& frame, const SharedFd& directory);
  void Prepare(Frame& frame);
  Shown Child(const Lower& lower, const std::string& name) const;
  Lower Enter(const Lower& lower, const std::string& name, const Shown& child) const;
  Lower LowerAt(const std::string& path) const;
  void DecideRenames();
  bool Redirected(const std::string& path) const;
  bool MovedAway(const std::string& base_path) const;
  bool Taken(const std::string& path) const;              // something is there, or may be
  std::string BasePathOf(const std::string& path) const;  // what shows through there
  bool Covered(const std::string& path) const;
  bool IsServiceData(const std::string& path) const;
  std::string Absolute(const std::string& path) const;

  const StateLayout& layout_;
  const LayoutSlot& slot_;
  bool of_other_;
  Renames renames_;
  bool blank_ = false;             // nothing of the base shows: the upper is a complete copy
  std::set<std::string> covered_;  // by other overlays, below the target
  SpecialDirectories special_;
  std::unordered_map<std::string, std::string> moved_;  // base path -> path
  std::unordered_set<std::string> told_;                // those reported as renames
  bool begun_ = false;
  std::vector<Frame> stack_;
  mutable Unreadable unreadable_;
};

}  // namespace cloche::walk
