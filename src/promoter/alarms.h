#pragma once

#include "differ/compare.h"
#include "promoter/links.h"
#include "promoter/plan.h"

namespace cloche::promoter {

// What of a change runs later, by whatever name, what it lets others do, and which credentials
// would leave with it.
void FindAlarms(const differ::Compared& compared, const Wish& wish, Links& links,
                std::vector<Alarm>& alarms);

// Links that were not looked at may lead to anything.
void FindUnsearched(const Wish& wish, const Links& links, std::vector<Alarm>& alarms);

}  // namespace cloche::promoter
