#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace cloche::cli {

// Fills what was bound to `app`. A value is the exit status to leave with: help was printed (0) or
// the arguments make no sense (`bad_usage`). `synopsis` is what follows the command in its usage
// line.
std::optional<int> Parse(CLI::App& app, const char* synopsis, Arguments arguments,
                         int bad_usage = 2);

// How a command that ends in a command line of its own introduces itself.
struct Introduction {
  const char* name;
  const char* description;
  const char* synopsis;
};

// Like Parse. The command line begins at the first argument that is neither an option nor an
// option's value, or after "--", and is left untouched. With `ref`, one argument before it names a
// sandbox; options may stand on either side of that. `add_flags` runs only when there are options:
// building the parser takes longer than everything else before the connection.
std::optional<int> ParseWithCommand(const Introduction& introduction, Arguments arguments,
                                    const std::function<void(CLI::App&)>& add_flags,
                                    std::vector<std::string>& command, std::string* ref = nullptr);

// Where the command line begins: an index into `arguments`, and whether a "--" stands there.
struct Boundary {
  size_t index = 0;
  bool at_dashes = false;
};
Boundary FindCommand(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace cloche::cli
