#pragma once

namespace cloche::sys {

// The kernel counts epoll watches by user (fs.epoll.max_user_watches), and rootless a sandbox is
// the same user as we are: it can use them all up. So we take some in advance. When epoll_ctl finds
// none left, it gives back of ours until there is one for us: watch_reserve.cc defines epoll_ctl
// for the whole program.
void ReserveWatches();
void ForgetWatches();  // in a child that goes on beside us: ours are free only when nobody has them
void RefillWatches();  // what was given back, as far as there are any; at most a few at a time

}  // namespace cloche::sys
