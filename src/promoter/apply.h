#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "promoter/stage.h"

namespace cloche::promoter {

// Where a test may stop the world: called before every change of reality.
extern std::function<void()> before_change;

// Puts one step into place, in one rename, if reality still is what it was. What was there lies in
// the store then.
// `moved`: inodes that earlier steps took away; another name of one may still be in reality.
Status Apply(const Step& step, int files, const Realities& realities, bool root,
             std::set<uint64_t>& moved);
// Takes one step back, whether it was done or not. Not: somebody has changed it since.
Status Revert(const Step& step, int files, const Realities& realities, bool root);

// Its time of change in reality now; 0: there is nothing.
int64_t SettledAt(const Step& step, const Realities& realities);
// Whether reality still has at this path what the step put there.
bool StillOurs(const Step& step, int64_t settled_ns, const Realities& realities);

}  // namespace cloche::promoter
