#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cloche::service {

// Inside a sandbox: makes the files below `paths` the sandbox's own, as they are now. Says how far
// it is on standard output ("bytes N"), then "copied" as soon as the originals may change again,
// and returns when the copies are in place. Nothing below may have been looked at before: what an
// overlay has looked up it may show as it was then.
Status CopyData(const std::vector<std::string>& paths);

}  // namespace cloche::service
