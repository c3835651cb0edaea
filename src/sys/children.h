#pragma once

#include <sys/types.h>

#include <string>

namespace cloche::sys {

// From here on every child is reaped when it ends, whoever's grandchild it was before.
void ReapChildren();

// How a child that ended lately did so: "killed by signal 9 (SIGKILL)", "exit status 1". Waits a
// moment for one that is just ending; "" when nobody knows.
std::string HowItEnded(pid_t child);

}  // namespace cloche::sys
