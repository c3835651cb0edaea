#pragma once

namespace cloche::spawn {

// Sends SIGKILL to every process except init whose memory group, as /proc shows it inside, is
// `path`, until none is left. If one forks faster than we kill, all the others are killed, too.
// Runs in init: allocates nothing.
void KillGroup(const char (&path)[16], bool unified);

}  // namespace cloche::spawn
