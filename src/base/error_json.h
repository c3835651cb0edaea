#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace cloche {

// The form in which an error is sent and printed: {"code", "message", "cure"}.
nlohmann::ordered_json ErrorJson(const Error& error);

// What is missing or no text is empty; a code nobody knows is kInternal.
Error ErrorFromJson(const nlohmann::ordered_json& object);

}  // namespace cloche
