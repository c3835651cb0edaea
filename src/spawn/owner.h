#pragma once

#include <stdint.h>
#include <sys/types.h>

namespace cloche::spawn {

// For init: finds the process that has a TCP or UDP socket bound to this port, as far as we can
// see; 0 if none is found. `name` is what it calls itself. Allocates nothing.
pid_t FindSocketOwner(uint16_t port, char (&name)[16]);

}  // namespace cloche::spawn
