#pragma once

#include <sys/types.h>

#include <string>

namespace cloche::sys {

// From here on, reaps every child and adopted grandchild when it ends.
void ReapChildren();

// How a child that recently ended did so: "killed by signal 9 (SIGKILL)", "exit status 1". Briefly
// waits for one that is just ending; "" if unknown.
std::string HowItEnded(pid_t child);

}  // namespace cloche::sys
