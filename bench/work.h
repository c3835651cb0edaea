#pragma once

#include <string>

namespace cloche::bench {

// Fills `directory` with what works in directories below it need.
void PrepareWork(const std::string& directory);

// One piece of file-system work; milliseconds. The same program does it inside and outside, and
// holds the clock itself, so that starting it does not count.
double DoWork(const std::string& name, const std::string& directory);

}  // namespace cloche::bench
