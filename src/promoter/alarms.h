#pragma once

#include "differ/compare.h"
#include "promoter/plan.h"

namespace cloche::promoter {

// What of a change runs later, and which credentials would leave with it.
void FindAlarms(const differ::Compared& compared, const Wish& wish, std::vector<Alarm>& alarms);

}  // namespace cloche::promoter
