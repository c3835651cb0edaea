#pragma once

#include <optional>
#include <vector>

#include "change/walk/walk.h"

namespace cloche::walk {

// All overlays of a state, in path order; if compared with another state, the differences between
// them.
class MergedWalk {
 public:
  MergedWalk(const StateLayout& layout, Renames renames);
  Result<std::optional<Entry>> Next();
  Unreadable unreadable() const;

 private:
  // The walks of one state, with the next entry of each at hand.
  class State {
   public:
    State(const StateLayout& layout, bool of_other, Renames renames);
    Result<const Entry*> Peek();  // null: no more
    Entry Take();
    Unreadable unreadable() const;

   private:
    struct Source {
      SlotWalk walk;
      std::optional<Entry> entry;
      bool ended = false;
    };
    std::vector<Source> sources_;
    Source* first_ = nullptr;
  };

  State state_;
  std::optional<State> other_;
};

}  // namespace cloche::walk
