#pragma once

namespace cloche::spawn {

// Every process of this pid namespace but us stands still, or goes on: what a cgroup's freezer
// does, where there is none. Called by init; allocates nothing. Those that were stopped before stay
// so. False: they did not all stop in time, and go on.
bool PauseOthers();
void ResumeOthers();

}  // namespace cloche::spawn
