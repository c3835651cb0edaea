#pragma once

#include <string>

#include "pipeline/run.h"

namespace cloche::pipeline {

// How far a run is, for people and for programs. `running`: a process works on it now.
std::string RunTable(const Run& run, bool running, bool colour);
Json RunJson(const Run& run, bool running);
// The command to run next; "" = none.
std::string NextCommand(const Run& run, bool running, const std::string& ref);

}  // namespace cloche::pipeline
