#pragma once

#include <sys/types.h>

namespace cloche::sys {

// For unprivileged programs only: cloche-spawn does not link it. 0 or -errno.

// Starts `program ARGUMENT 3` with one end of a SEQPACKET socketpair as fd 3 and only PATH in its
// environment; returns our end or -errno.
int StartWithSocket(const char* program, const char* argument, pid_t& child);
int BecomeUser(uid_t uid, gid_t gid);  // for good, no groups, no_new_privs, verified
int AdoptOrphans();     // grandchildren become our children, not those of the host's init
int ForbidCoreDumps();  // memory is never written to a file, and only root may trace us
const char* CapabilityName(int capability);  // "net_admin", "?" for an unknown one

}  // namespace cloche::sys
