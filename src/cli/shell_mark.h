#pragma once

#include <string>
#include <vector>

namespace cloche::cli {

// The command that opens `shell` with "(cloche LABEL) " before its prompt. The person's own start
// files run first and as always; an unknown shell is started as it is.
std::vector<std::string> MarkedShell(const std::string& shell, const std::string& label);

}  // namespace cloche::cli
