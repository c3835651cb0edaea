#pragma once

#include <string>
#include <vector>

#include "base/launch_plan.h"
#include "spawn/failure.h"
#include "spawn/source.h"

namespace cloche::spawn {

// Which directory of an upper holds the changes of which overlay. Slot "N" has "u" (the changes),
// "w" (overlayfs's own) and "t", a link that names where it is mounted: the host's mounts come and
// go while a sandbox is stopped, so a number alone would later mean another one.
class Slots {
 public:
  // `sources`: by mount; an overlay without a lower directory is not mounted.
  static OrFailure<Slots> Of(int upper, const SandboxSpec& spec,
                             const std::vector<Source>& sources);

  // By overlay of the spec; "" = none.
  const std::vector<std::string>& names() const { return names_; }
  // Where something was changed that this spec does not show: nothing is mounted there now, or
  // something that was not mounted when it was changed.
  const std::vector<std::string>& away() const { return away_; }
  // Creates a slot for every mounted overlay that is not read-only.
  OrFailure<void> Complete(int upper, const SandboxSpec& spec, const std::vector<Source>& sources);

 private:
  std::vector<std::string> names_, away_;
  unsigned next_ = 0;  // the next free number
};

}  // namespace cloche::spawn
