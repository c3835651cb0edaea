#pragma once

#include <string_view>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/process.h"

namespace cloche::spawn {

// The last check before privileges are used. cloched is not trusted: what the plan says about the
// caller must match what the kernel says about the client's socket, and rights that depend on it
// are recomputed here.
OrFailure<void> CheckPlan(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode);

// `sb_` and 1 to 28 of [a-z0-9]: it becomes a file name, so any other is refused.
bool IsSandboxId(std::string_view id);
bool IsSnapshotId(std::string_view id);  // likewise, with `sn_`

}  // namespace cloche::spawn
