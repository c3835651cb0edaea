#include "cli/surroundings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace cloche::cli {

Result<Surroundings> ReadSurroundings() {
  Surroundings around;
  char cwd[PATH_MAX];
  // The kernel answers "(unreachable)/..." for a directory outside this mount namespace's root.
  if (getcwd(cwd, sizeof cwd) == nullptr || cwd[0] != '/')
    return Fail(Code::kInvalid,
                fmt::format("read the current directory: {}", strerror(errno ? errno : ENOENT)),
                "cd to a directory that exists");
  around.cwd = cwd;
  // Where it really is: what is hidden in it must not be found behind a link.
  char home[PATH_MAX];
  if (const char* given = getenv("HOME"); given != nullptr && given[0] == '/')
    around.home = realpath(given, home) != nullptr ? home : given;
  around.project = FindProject(around.cwd, around.home, [](const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
  });
  for (char** variable = environ; *variable != nullptr; ++variable)
    around.environment.emplace_back(*variable);
  return around;
}

}  // namespace cloche::cli
