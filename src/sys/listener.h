#pragma once

#include <string>

#include "sys/fd.h"

namespace cloche::sys {

// A listening stream socket, non-blocking; replaces `path`.
int ListenAt(const char* path, unsigned mode, Fd& listener);
// Takes over a listening stream socket that another process bound to a path: makes it non-blocking
// and close-on-exec like ours, and sets `path`.
int AdoptListener(int socket, std::string& path);

}  // namespace cloche::sys
