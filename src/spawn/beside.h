#pragma once

#include <string>
#include <vector>

namespace cloche::spawn {

// For becoming one of our other programs.
inline constexpr int kFirstPassedFd = 3;

std::string ProgramBeside(const char* name);  // the path of one that lies where ours does
// Descriptors in this order from kFirstPassedFd on, and no others; -1 leaves a gap. 0 or -errno.
int ArrangeDescriptors(const std::vector<int>& wanted);

}  // namespace cloche::spawn
