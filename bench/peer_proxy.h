#pragma once

#include <sys/types.h>

#include <string>

#include "program.h"

namespace cloche::bench {

// A port of loopback that nobody listens on at the moment.
int FreePort();

// A server of somebody else's with a configuration of its own below `place`, in the foreground.
// Killed, by its process group, with this object.
class PeerProxy {
 public:
  // Throws when nobody listens on `port` after some seconds.
  PeerProxy(const Argv& argv, int port);
  ~PeerProxy();
  PeerProxy(const PeerProxy&) = delete;
  PeerProxy& operator=(const PeerProxy&) = delete;

 private:
  pid_t pid_;
};

}  // namespace cloche::bench
