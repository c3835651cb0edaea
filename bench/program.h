#pragma once

#include <string>
#include <vector>

namespace cloche::bench {

using Argv = std::vector<std::string>;

// The absolute path of a program on PATH (and in the sbin directories), or "".
std::string FindProgram(const std::string& name);

// Beside this executable.
std::string Sibling(const std::string& name);

// Runs it with all three standard streams on /dev/null; milliseconds until it was waited for.
// Throws std::runtime_error when it does not exit with 0.
double TimeSpawn(const Argv& argv);

// So many of it, one after the other.
double TimeSpawnMany(const Argv& argv, int count);

// The same as TimeSpawn with fork and execve, as a shell without tricks does it.
double TimeFork(const Argv& argv);

// Its standard output. Throws as above.
std::string Capture(const Argv& argv);

}  // namespace cloche::bench
