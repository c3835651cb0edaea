#pragma once

#include "change/apply/links.h"
#include "change/apply/plan.h"
#include "change/walk/compare.h"

namespace cloche::apply {

// Finds what a change makes run later (under any name), what it lets others do, and which
// credentials it carries.
void FindAlarms(const walk::Compared& compared, const Wish& wish, Links& links,
                std::vector<Alarm>& alarms);

// Alarms if the search for links was cut short: an unsearched link may lead anywhere.
void FindUnsearched(const Wish& wish, const Links& links, std::vector<Alarm>& alarms);

}  // namespace cloche::apply
