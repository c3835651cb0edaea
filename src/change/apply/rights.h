#pragma once

#include "change/apply/plan.h"
#include "change/model/change.h"

namespace cloche::apply {

// What a change lets others do: everybody's write permission, access control lists, another owner.
void FindRights(const change::Change& change, const Wish& wish, std::vector<Alarm>& alarms);

}  // namespace cloche::apply
