#pragma once

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "sys/process.h"

namespace cloche::spawn {

// The last word before privileges are used. cloched is not believed: what the plan says about the
// caller must be what the kernel says about the client's socket, and rights that follow from it
// are recomputed here.
Outcome<void> CheckPlan(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode);

}  // namespace cloche::spawn
