#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/answers.h"

namespace cloche::service {

// A directory the service expects, where a sandbox starts with an empty one: below /run.
struct OwnDirectory {
  std::string path;
  uint32_t mode = 0755;
  uint32_t uid = 0;
  uint32_t gid = 0;
};

struct Program {
  std::string path;
  std::vector<std::string> argv;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  std::vector<Address> addresses;
  std::vector<OwnDirectory> directories;
};

// Inside a sandbox: starts the program as its user and waits for it and all it leaves behind.
// Writes "ready" to standard output when it answers everywhere; what the program writes goes to
// standard error. SIGTERM and SIGINT are passed on. Returns the exit status.
int RunProgram(const Program& program);

}  // namespace cloche::service
