#pragma once

#include <string>

namespace cloche::cli {

// The commit that the repository at `project` is at, in hex; "" when there is none or it cannot be
// told. Reads git's files and runs nothing.
std::string HeadCommit(const std::string& project);

}  // namespace cloche::cli
