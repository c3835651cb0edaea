#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/daemon_start.h"
#include "cli/print.h"

namespace cloche::cli {

// A program of its own: few people need it, and everybody starts cloche.
int Pipeline(Arguments arguments) {
  const std::string program = FindSibling("cloche-pipeline");
  if (program.empty())
    return PrintError({Code::kUnavailable,
                       "start cloche-pipeline: it is not installed beside cloche",
                       "install Cloche completely (make install)"});
  char ourselves[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", ourselves, sizeof ourselves);
  std::string words[] = {"cloche-pipeline", "--program",
                         std::string(ourselves, length > 0 ? static_cast<size_t>(length) : 0)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  return PrintError(
      {Code::kUnavailable, fmt::format("start {}: {}", program, strerror(errno)), ""});
}

}  // namespace cloche::cli
