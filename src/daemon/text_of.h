#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cloche::daemon {

// A field of another program's message; "" if it is missing or not text.
inline std::string TextOf(const nlohmann::ordered_json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace cloche::daemon
