#include "change/walk/merge.h"

namespace cloche::walk {

MergedWalk::State::State(const StateLayout& layout, bool of_other, Renames renames) {
  for (uint32_t slot = 0; slot < layout.slots.size(); ++slot)
    sources_.push_back({SlotWalk(layout, slot, of_other, renames), std::nullopt});
}

Result<const Entry*> MergedWalk::State::Peek() {
  first_ = nullptr;
  for (Source& source : sources_) {
    if (!source.entry && !source.ended) {
      ASSIGN_OR_RETURN(source.entry, source.walk.Next());
      source.ended = !source.entry;
    }
    if (source.entry && (!first_ || source.entry->path < first_->entry->path)) first_ = &source;
  }
  return first_ ? &*first_->entry : nullptr;
}

Entry MergedWalk::State::Take() {
  Entry entry = std::move(*first_->entry);
  first_->entry.reset();
  return entry;
}

Unreadable MergedWalk::State::unreadable() const {
  Unreadable all;
  for (const Source& source : sources_) all.Add(source.walk.unreadable());
  return all;
}

Unreadable MergedWalk::unreadable() const {
  Unreadable all = state_.unreadable();
  if (other_) all.Add(other_->unreadable());
  return all;
}

// Between two states, a rename is a deletion and an addition: either side may have its own.
MergedWalk::MergedWalk(const StateLayout& layout, Renames renames)
    : state_(layout, false, layout.against_other ? Renames::kExpand : renames) {
  if (layout.against_other) other_.emplace(layout, true, Renames::kExpand);
}

Result<std::optional<Entry>> MergedWalk::Next() {
  ASSIGN_OR_RETURN(const Entry* here, state_.Peek());
  if (!other_) {
    if (!here) return std::nullopt;
    return state_.Take();
  }
  ASSIGN_OR_RETURN(const Entry* there, other_->Peek());
  while (here && there && here->path == there->path) {
    Entry entry = state_.Take();
    entry.before = other_->Take().after;
    if (entry.before || entry.after) return entry;
    ASSIGN_OR_RETURN(here, state_.Peek());  // deleted in both
    ASSIGN_OR_RETURN(there, other_->Peek());
  }
  if (!here && !there) return std::nullopt;
  if (!there || (here && here->path < there->path)) return state_.Take();
  Entry entry = other_->Take();  // changed there; here as in the base
  std::swap(entry.before, entry.after);
  return entry;
}

}  // namespace cloche::walk
