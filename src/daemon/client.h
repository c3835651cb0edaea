#pragma once

#include "sys/process.h"

namespace cloche::daemon {

// The caller's identity, and the socket that proves it.
struct Client {
  sys::PeerIdentity peer;
  int socket = -1;
};

}  // namespace cloche::daemon
