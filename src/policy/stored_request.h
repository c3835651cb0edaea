#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "policy/request.h"

namespace cloche {

// A sandbox's request as the registry keeps it (docs/formats/registry.md). ReadStoredRequest reads
// all that StoreRequest writes: every field of the request, and none of the command that may have
// come with it.
nlohmann::json StoreRequest(const SandboxRequest& request);

// Older records still hold fields of their first command: these are left out. Any other field we
// do not know is an error, because a restriction may stand in it.
Result<SandboxRequest> ReadStoredRequest(nlohmann::json stored);

// Fails if the request would not come back from the registry unchanged.
Status CheckStorable(const SandboxRequest& request);

}  // namespace cloche
