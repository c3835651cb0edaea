#pragma once

#include <string>

#include "sys/fd.h"

namespace cloche::sys {

// A listening stream socket, non-blocking; replaces `path`.
int ListenAt(const char* path, unsigned mode, Fd& listener);
// A listening stream socket that another process bound to a path: becomes non-blocking and
// close-on-exec like ours, and `path` is set.
int AdoptListener(int socket, std::string& path);

}  // namespace cloche::sys
