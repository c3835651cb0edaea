#pragma once

#include <string>

#include "cli/print.h"

namespace cloche::cli {

// A record of the network log, as a line.
std::string NetworkLogLine(const Json& record);

}  // namespace cloche::cli
