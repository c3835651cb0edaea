#pragma once

#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "spawn/source.h"

namespace cloche::spawn {

// Which directory of an upper holds the changes of which overlay. Slot "N" has "u" (what was
// changed), "w" (overlayfs's own) and "t", a link that names where it is mounted: mounts of the
// host come and go while a sandbox is stopped, so a number alone would mean another one later.
class Slots {
 public:
  // `sources`: by mount; an overlay without a directory below it is not mounted.
  static OrFailure<Slots> Of(int upper, const SandboxSpec& spec,
                             const std::vector<Source>& sources);

  // By overlay of the spec; "" = it has none.
  const std::vector<std::string>& names() const { return names_; }
  // Where something was changed that this spec does not show: nothing is mounted there now, or
  // something that was not there when it was changed.
  const std::vector<std::string>& away() const { return away_; }
  // Makes a slot for every overlay that is mounted, but for those that are only looked at.
  OrFailure<void> Complete(int upper, const SandboxSpec& spec, const std::vector<Source>& sources);

 private:
  std::vector<std::string> names_, away_;
  unsigned next_ = 0;  // number that no slot has
};

}  // namespace cloche::spawn
