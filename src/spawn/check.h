#pragma once

#include <string_view>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/process.h"

namespace cloche::spawn {

// The last word before privileges are used. cloched is not believed: what the plan says about the
// caller must be what the kernel says about the client's socket, and rights that follow from it
// are recomputed here.
OrFailure<void> CheckPlan(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode);

// `sb_` and 1 to 28 of [a-z0-9]: it becomes a file name, so no request is served with another.
bool IsSandboxId(std::string_view id);
bool IsSnapshotId(std::string_view id);  // likewise, with `sn_`

}  // namespace cloche::spawn
