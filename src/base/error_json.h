#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace cloche {

// The form in which an error is sent and printed: {"code", "message", "cure"}.
nlohmann::ordered_json ErrorJson(const Error& error);

// Fields that are missing or not strings become empty; an unknown code becomes kInternal.
Error ErrorFromJson(const nlohmann::ordered_json& object);

}  // namespace cloche
