#pragma once

#include <CLI/CLI.hpp>
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

// Like Parse, for commands that end in a command line of their own, which begins at the first
// argument that is neither an option nor an option's value, or after "--". It is left untouched.
// With `ref`, one argument before it names a sandbox; options may stand on either side of that.
std::optional<int> ParseWithCommand(CLI::App& app, const char* synopsis, Arguments arguments,
                                    std::vector<std::string>& command, std::string* ref = nullptr);

// Where the command line begins: an index into `arguments`, with `after_dashes` when at a "--".
struct Boundary {
  size_t index = 0;
  bool at_dashes = false;
};
Boundary FindCommand(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace cloche::cli
