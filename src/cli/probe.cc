#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/daemon_start.h"
#include "cli/print.h"

namespace cloche::cli {

int Probe(Arguments arguments) {
  const std::string program = FindSibling("cloche-probe");
  if (program.empty())
    return PrintError({Code::kUnavailable, "start cloche-probe: it is not installed beside cloche",
                       "install Cloche completely (make install)"});
  std::string name = "cloche-probe";
  std::vector<char*> argv = {name.data()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  return PrintError(
      {Code::kUnavailable, fmt::format("start {}: {}", program, strerror(errno)), ""});
}

}  // namespace cloche::cli
