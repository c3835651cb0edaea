#pragma once

#include "base/launch_plan.h"
#include "sys/process.h"

namespace cloche::fuzz {

// Conditions that hold for every plan that cloche-spawn executes.
void RequirePlanPromises(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode);

}  // namespace cloche::fuzz
