#pragma once

#include "change/apply/prepare.h"

namespace cloche::apply {

// Everything written is on disk when these return. A few steps are synced one by one, because
// others may be writing gigabytes to the same filesystem; for many, whole filesystems are.

// Syncs the plan and the prepared files, before reality is touched.
Status SyncPrepared(const Promotion& promotion, const Store::Entry& entry,
                    const Realities& realities);
// Syncs the names that came and went, and the journal.
Status SyncReality(const Promotion& promotion, const Store::Entry& entry,
                   const Realities& realities);

}  // namespace cloche::apply
