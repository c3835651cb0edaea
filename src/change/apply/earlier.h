#pragma once

#include <string>

#include "change/apply/plan.h"
#include "change/apply/store.h"

namespace cloche::apply {

// Reads from the journals what earlier promotions left, and puts it into the wish. Of this
// sandbox's own it is no change of reality's; what was taken back is as old as it was before.
Status FindEarlier(const Store& store, const std::string& sandbox, Wish& wish);

}  // namespace cloche::apply
