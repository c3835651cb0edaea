#pragma once

namespace cloche::sys {

// The kernel counts epoll watches per user (fs.epoll.max_user_watches), and rootless a sandbox is
// the same user as we are: it can use them all up. So we take some in advance. If epoll_ctl finds
// none left, it frees some of ours until there is one for us: watch_reserve.cc defines epoll_ctl
// for the whole program.
void ReserveWatches();
void ForgetWatches();  // in a lasting child: ours are free only once nobody has them
void RefillWatches();  // what was freed, as far as available; a few at a time

}  // namespace cloche::sys
