#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/spawn_protocol.h"
#include "policy/facts.h"

namespace cloche {

// What cloche-spawn reports, as a sentence and what the reader can do about it.
Error ExplainLaunchFailure(SpawnStage stage, std::string_view operation, int errno_value,
                           std::string_view detail, const HostFacts& facts);

}  // namespace cloche
