#pragma once

#include "change/apply/prepare.h"

namespace cloche::apply {

// What was written is on disk when these return. Of a few steps only what they are about is waited
// for: others may be writing gigabytes to the same file system. Of many, the whole file systems.

// The plan and what is prepared, before reality is touched.
Status SyncPrepared(const Promotion& promotion, const Store::Entry& entry,
                    const Realities& realities);
// The names that came and went, and the journal.
Status SyncReality(const Promotion& promotion, const Store::Entry& entry,
                   const Realities& realities);

}  // namespace cloche::apply
