#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "policy/plan.h"

namespace cloche {

// The answer of /v1/explain, without dropped_env (environment.h has that).
nlohmann::ordered_json PlannedToJson(const Planned& planned);

// The output of `cloche explain`: one line for each thing that is built, with the reason.
std::string PlannedToText(const Planned& planned);
std::string DifferencesToText(const Planned& planned);

}  // namespace cloche
