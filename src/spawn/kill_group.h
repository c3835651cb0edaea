#pragma once

namespace cloche::spawn {

// SIGKILL to every process but init whose memory group, as /proc shows it inside, is `path`, until
// none is left. One that forks faster than we kill takes all the others with it. Runs in init:
// allocates nothing.
void KillGroup(const char (&path)[16], bool unified);

}  // namespace cloche::spawn
