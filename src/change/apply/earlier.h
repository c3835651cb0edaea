#pragma once

#include <string>

#include "change/apply/plan.h"
#include "change/apply/store.h"

namespace cloche::apply {

// Reads from the journals what earlier promotions left, and records it in the wish. This sandbox's
// own promotions do not count as changes in reality; an undone change is as old as before.
Status FindEarlier(const Store& store, const std::string& sandbox, Wish& wish);

}  // namespace cloche::apply
