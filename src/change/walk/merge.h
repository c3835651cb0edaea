#pragma once

#include <optional>
#include <vector>

#include "change/walk/walk.h"

namespace cloche::walk {

// All overlays of a state in one order of paths; with another state to compare with, what differs
// between the two.
class MergedWalk {
 public:
  MergedWalk(const StateLayout& layout, Renames renames);
  Result<std::optional<Entry>> Next();
  Unreadable unreadable() const;

 private:
  // The walks of one state, the next entry of each at hand.
  class State {
   public:
    State(const StateLayout& layout, bool of_other, Renames renames);
    Result<const Entry*> Peek();  // null: that was all
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
