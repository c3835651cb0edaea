#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace cloche::spawn {

// Every process of this pid namespace but us stands still, or goes on: what a cgroup's freezer
// does, where there is none. Called by init; allocates nothing. Those that were stopped before stay
// so. False: they did not all stop in time, and go on.
bool PauseOthers();
void ResumeOthers();

// The numbers in a directory of /proc: processes, the threads of one, its descriptors. -1 if there
// are too many, or none can be read.
long ListNumbers(int dir, const char* path, pid_t* numbers, size_t most);
void PutNumber(char*& at, pid_t number);  // and a NUL; `at` is behind the digits then
bool IsDead(pid_t pid);                   // or a zombie

}  // namespace cloche::spawn
