#pragma once

#include <map>
#include <string>
#include <vector>

#include "promoter/plan.h"
#include "promoter/store.h"

namespace cloche::promoter {

// The file trees of reality that a promotion touches, by their target.
using Realities = std::map<std::string, Reality>;
Status OpenReality(Realities& realities, const std::string& target);

// Puts what is wanted into the store, complete with owner, mode, times and attributes, and says in
// which order it goes into place. Nothing of reality is touched.
// `promotion` gets the steps, and the directories that they happen in.
// `journal` hears of what is made outside of the store, which `entry` and `promotion` get, too.
// `changes` and `all` are those of a plan; of the latter each goes as soon as it is done.
Status Stage(const std::vector<std::string>& changes, std::deque<Wanted> all, const Wish& wish,
             Journal& journal, Store::Entry& entry, Realities& realities, Promotion& promotion,
             std::vector<Conflict>& conflicts);

}  // namespace cloche::promoter
