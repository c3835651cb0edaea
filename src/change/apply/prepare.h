#pragma once

#include <map>
#include <string>
#include <vector>

#include "change/apply/plan.h"
#include "change/apply/store.h"

namespace cloche::apply {

// The file trees of reality that a promotion touches, by their target.
using Realities = std::map<std::string, Reality>;
Status OpenReality(Realities& realities, const std::string& target);

// Puts what is wanted into the store, complete with owner, mode, times and attributes, and says in
// which order it goes into place. Nothing of reality is touched.
// `changes` and `all` are those of a plan; of the latter each goes as soon as it is done.
struct PrepareInto {
  Journal& journal;  // hears of what is made outside of the store, which the next and last get too
  Store::Entry& entry;
  Realities& realities;
  Promotion& promotion;  // gets the steps, and the directories that they happen in
};
Status PrepareFiles(const std::vector<std::string>& changes, std::deque<Wanted> all,
                    const Wish& wish, const PrepareInto& into, std::vector<Conflict>& conflicts);

}  // namespace cloche::apply
