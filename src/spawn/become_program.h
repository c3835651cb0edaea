#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cloche::spawn {

// For becoming one of our other programs.
inline constexpr int kFirstPassedFd = 3;

// Executes the program installed beside ours, with these descriptors from kFirstPassedFd on (-1
// leaves a gap), `complaints` as standard error, no environment, and the rights that `lose_rights`
// leaves (0 or -errno). Returns 1 if it failed, after saying why.
int BecomeProgram(const char* name, const std::vector<int>& fds, int complaints,
                  const std::function<int()>& lose_rights);

int Complain(int fd, const std::string& what, int error);  // says why; returns 1

}  // namespace cloche::spawn
