#pragma once

#include <stdint.h>

namespace cloche::sys {

// The daemon's end of a sandbox's filter.

// One call that waits for its denial. `pid` is in the receiver's pid namespace; 0 if the caller is
// not visible from there.
struct SeccompNotification {
  uint64_t id = 0;
  uint32_t pid = 0;
  int number = 0;
  uint64_t arguments[6] = {};
};

// Call after poll() says the listener is readable. 0, or -errno; -ENOENT and -EINTR mean "it is
// gone, keep polling".
int ReceiveNotification(int listener, SeccompNotification& notification);

// Answers with the errno of the table. A call with pointers is never let through: their targets may
// have changed since. -ENOENT if the caller has died meanwhile.
int DenyNotification(int listener, uint64_t id, int error);

// For a call without pointers: the caller makes it itself.
int ContinueNotification(int listener, uint64_t id);

// Adds a copy of `fd` to the caller's descriptors, and answers with its number.
int SupplyDescriptor(int listener, uint64_t id, int fd, bool close_on_exec);

}  // namespace cloche::sys
