#pragma once

#include "change/apply/side_store.h"

namespace cloche::apply {

// What a sandbox wrote is read from here on, and may try to use whoever reads it. Afterwards this
// process makes, changes and removes names in the store and where the promotion is about, and
// nowhere else; it starts no program and opens no connection. Where the kernel cannot do that,
// nothing is promoted. A dry run changes nothing at all.
// What was made on other file systems, to be dropped in the end if nothing is in it.
Result<std::vector<SideStoreDirectory>> Confine(const StateLayout& layout, const Wish& wish,
                                                const Store& store, bool dry_run);

// Only the calls that are needed; for those who read nothing of a sandbox.
Status ConfineCalls();

}  // namespace cloche::apply
