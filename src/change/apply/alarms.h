#pragma once

#include "change/apply/links.h"
#include "change/apply/plan.h"
#include "change/walk/compare.h"

namespace cloche::apply {

// What of a change runs later, by whatever name, what it lets others do, and which credentials
// would leave with it.
void FindAlarms(const walk::Compared& compared, const Wish& wish, Links& links,
                std::vector<Alarm>& alarms);

// Links that were not looked at may lead to anything.
void FindUnsearched(const Wish& wish, const Links& links, std::vector<Alarm>& alarms);

}  // namespace cloche::apply
