#pragma once

#include "change/apply/side_store.h"

namespace cloche::apply {

// Call before reading anything a sandbox wrote: it may try to take over its reader. Afterwards this
// process can create, change and remove names only in the store and where the promotion applies; it
// can start no program and open no connection. If the kernel cannot enforce that, nothing is
// promoted. A dry run cannot change anything.
//
// Returns the directories made on other filesystems; drop them at the end if they are empty.
Result<std::vector<SideStoreDirectory>> Confine(const StateLayout& layout, const Wish& wish,
                                                const Store& store, bool dry_run);

// Restricts system calls only; for commands that read nothing from a sandbox.
Status ConfineCalls();

}  // namespace cloche::apply
