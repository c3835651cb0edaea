#pragma once

#include "diff/change.h"
#include "promoter/plan.h"

namespace cloche::promoter {

// What a change lets others do: everybody's write permission, access control lists, another owner.
void FindRights(const diff::Change& change, const Wish& wish, std::vector<Alarm>& alarms);

}  // namespace cloche::promoter
