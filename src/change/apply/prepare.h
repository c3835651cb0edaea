#pragma once

#include <map>
#include <string>
#include <vector>

#include "change/apply/plan.h"
#include "change/apply/store.h"

namespace cloche::apply {

// The real directory trees that a promotion touches, by target.
using Realities = std::map<std::string, Reality>;
Status OpenReality(Realities& realities, const std::string& target);

// Puts the wanted files into the store, complete with owner, mode, times and attributes, and orders
// the steps. Does not touch reality. `changes` and `all` come from a plan; each element of `all` is
// freed as soon as it is done.
struct PrepareInto {
  Journal& journal;  // records side stores, as do `entry` and `promotion`
  Store::Entry& entry;
  Realities& realities;
  Promotion& promotion;  // gets the steps and their parent directories
};
Status PrepareFiles(const std::vector<std::string>& changes, std::deque<Wanted> all,
                    const Wish& wish, const PrepareInto& into, std::vector<Conflict>& conflicts);

}  // namespace cloche::apply
