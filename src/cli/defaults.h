#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/request.h"

namespace cloche::cli {

// Whether a project shall have something that the person's own settings do not give.
using GrantQuestion = std::function<bool(const std::string& flag, const std::string& value)>;

// Adds what settings and wishes (docs/settings.md) say to what was typed. Agents write project
// files too, so a project file can take away and hide, but gives nothing by itself. Returns the
// wishes that were not granted, as flags ("--allow example.com:443"). Pure but for `grant`.
Result<std::vector<std::string>> AddDefaults(SandboxFlags& flags, const Surroundings& around,
                                             const GrantQuestion& grant);

// Lowers limits to what a project wishes, except those that were typed. `effective` is what the
// sandbox would have otherwise; limits that cannot be enforced here (`not_enforced`) stay
// unenforced. Pure.
void LowerLimits(SandboxFlags& flags, const Surroundings& around, const Body& effective,
                 const Body& not_enforced, bool keep);

struct DefaultsFor {
  bool keep = false;
  bool json = false;
  bool quiet = false;
};
// Both for a command: asks at a terminal, also about typed rules for every host, and says what is
// not granted. Call it once.
Status TakeDefaults(SandboxFlags& flags, const Surroundings& around, const DefaultsFor& which);

}  // namespace cloche::cli
