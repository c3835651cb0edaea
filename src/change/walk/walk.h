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

// A path where an upper and its base may differ. One side may be missing, not both.
struct Entry {
  std::string path;
  std::string old_path;  // where the old side is, if it was moved
  std::optional<LayerFile> before;
  std::optional<LayerFile> after;
  bool implied = false;  // that it moved is told by a directory above it
  bool top = false;      // of an overlay
  bool unseen = false;  // nothing says that it was deleted: its directory shows nothing of the base
};

// Directories that could not be read: the answer is not complete.
struct Unreadable {
  static constexpr size_t kMostPaths = 1000;
  uint64_t count = 0;
  std::vector<std::string> paths;  // the first of them

  void Add(std::string path);
  void Add(const Unreadable& others);
};

// What becomes of a directory that was renamed as a whole.
enum class Renames {
  kBrief,   // one entry for it, and one for what differs in it
  kFiles,   // and one for every file in it; only where neither place is in anything else's way, so
            // that nothing depends on the order in which they are done
  kExpand,  // deleted there, added here
};

// What the upper of one overlay changed, in ascending order of the bytes of the path. Walks the
// upper, never the whole base: of that only what was deleted.
class SlotWalk {
 public:
  SlotWalk(const StateLayout& layout, uint32_t slot, bool of_other, Renames renames);
  Result<std::optional<Entry>> Next();                          // nothing: that was all
  const Unreadable& unreadable() const { return unreadable_; }  // so far

 private:
  // A directory of the base, with what hides parts of it.
  struct Lower {
    SharedFd directory, mask;
    std::string path;  // in the base, below the target
    bool valid() const { return directory != nullptr || mask != nullptr; }
  };
  // One name in such a directory.
  struct Shown {
    std::optional<LayerFile> place;  // nothing: hidden, or not there
    std::optional<LayerFile> mask;   // hides parts of it
  };
  struct Frame {
    std::string path;  // below the target
    SharedFd upper;
    Lower origin;                               // shows through the upper
    Lower before;                               // what the base has at this path
    bool same = true;                           // both are the same directory
    bool renamed = false;                       // `before` is elsewhere in the base
    bool lost = false;                          // nobody knows what `origin` was
    bool unseen = false;                        // of its Entry
    std::map<std::string, std::string> events;  // name to look at; with a slash: to go into
    std::map<std::string, Frame> children;      // to go into
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
  bool Taken(const std::string& path) const;              // is there something, or may it be?
  std::string BasePathOf(const std::string& path) const;  // what shows through there
  bool Covered(const std::string& path) const;
  bool IsServiceData(const std::string& path) const;
  std::string Absolute(const std::string& path) const;

  const StateLayout& layout_;
  const LayoutSlot& slot_;
  bool of_other_;
  Renames renames_;
  bool blank_ = false;             // nothing of the base shows: the upper holds a copy of its own
  std::set<std::string> covered_;  // by other overlays, below the target
  SpecialDirectories special_;
  std::unordered_map<std::string, std::string> moved_;  // base path -> path
  std::unordered_set<std::string> told_;                // as renames, of these
  bool begun_ = false;
  std::vector<Frame> stack_;
  mutable Unreadable unreadable_;
};

}  // namespace cloche::walk
