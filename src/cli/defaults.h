#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/request.h"

namespace cloche::cli {

// Whether a project shall have something that the person's own settings do not give.
using GrantQuestion = std::function<bool(const std::string& flag, const std::string& value)>;

// Adds what settings and wishes (docs/settings.md) say to what was typed. A project's file is
// written by agents, too: it takes away and hides, and gives nothing by itself. What it asks for
// and does not get is returned, as flags ("--allow example.com:443"). Pure but for `grant`.
Result<std::vector<std::string>> AddDefaults(SandboxFlags& flags, const Surroundings& around,
                                             const GrantQuestion& grant);

// What a project wishes makes limits smaller, but for those that were typed. `effective` is what
// the sandbox would have without that; a limit that nobody can enforce here (`not_enforced`) stays
// so. Pure.
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
