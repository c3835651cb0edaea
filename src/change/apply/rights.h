#pragma once

#include "change/apply/plan.h"
#include "change/model/change.h"

namespace cloche::apply {

// Finds what a change lets others do: write permission for everybody, ACL entries, another owner.
void FindRights(const change::Change& change, const Wish& wish, std::vector<Alarm>& alarms);

}  // namespace cloche::apply
