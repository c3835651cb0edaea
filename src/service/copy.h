#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cloche::service {

// Inside a sandbox: makes the files below `paths` the sandbox's own, as they are now. Reports
// progress on standard output ("bytes N"), then "copied" as soon as the originals may change again,
// and returns when the copies are in place. Nothing below may have been looked up before: an
// overlay may keep showing what it has looked up.
Status CopyData(const std::vector<std::string>& paths);

}  // namespace cloche::service
