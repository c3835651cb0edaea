#pragma once

#include <string>

#include "sys/fd.h"

namespace cloche::sign {

// The process that may connect, to one socket, and reads nothing but single bytes: the process that
// parses bytes of a sandbox has no call left that opens a file or connects.

// Forks it. `ours` is where connections are asked for; it ends when that is closed. 0 or -errno.
int StartDialer(const std::string& path, sys::Fd& ours);

// A new connection, not blocking; or -errno.
int Dial(int dialer);

}  // namespace cloche::sign
