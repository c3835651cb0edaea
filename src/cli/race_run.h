#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/race_api.h"
#include "cli/request.h"
#include "cli/signal_watch.h"
#include "race/result.h"
#include "race/spec.h"

namespace cloche::cli {

struct RaceSetting {
  race::Spec spec;
  SandboxFlags sandbox;  // its limits are those of `spec`
  Surroundings around;
  bool quiet = false;
};

struct RaceOutcome {
  race::Race race;
  std::optional<int> left_status;           // 128 + the signal that ended it
  std::optional<race::Step> failed_set_up;  // no lane was started
};

// Makes the base, sets it up, forks a sandbox for each lane and runs the lanes, some at a time. One
// loop, no threads. The sandboxes are left in `sandboxes`; all are stopped.
Result<RaceOutcome> RunRace(const RaceSetting& setting, const SignalWatch& signals,
                            RaceSandboxes& sandboxes);

}  // namespace cloche::cli
