#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace cloche::spawn {

// Stops or resumes every other process in this pid namespace, like a cgroup freezer, where there is
// none. Called by init; allocates nothing. Processes that were stopped before stay stopped. False:
// they did not all stop in time, and were resumed.
bool PauseOthers();
void ResumeOthers();

// The numbers in a directory of /proc: processes, a process's threads or descriptors. -1 if there
// are too many, or none can be read.
long ListNumbers(int dir, const char* path, pid_t* numbers, size_t most);
void PutNumber(char*& at, pid_t number);  // and a NUL; leaves `at` after the digits
bool IsDead(pid_t pid);                   // or a zombie

}  // namespace cloche::spawn
