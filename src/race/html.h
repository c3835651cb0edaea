#pragma once

#include <string>

#include "race/result.h"

namespace cloche::race {

// One file that opens without a server, a script or the network. It forbids itself all three, so
// that the output of a lane could not use them even if it were not escaped, which it is.
std::string HtmlReport(const Race& race, const Verdict& verdict, const Overlap& overlap);

}  // namespace cloche::race
