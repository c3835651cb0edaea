#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche {

// PUT /v1/secrets/NAME: a value, where it may go, and what stands for it inside.
struct SecretRequest {
  std::string value;               // to be wiped
  std::vector<std::string> hosts;  // api.example.com, or with :PORT
  std::vector<std::string> where;  // header, basic, query, json
  std::string variable;            // empty: by its name
  std::string like;                // what the placeholder begins with; empty: as the value does
};
// The value is moved out of `body`.
Result<SecretRequest> ParseSecretRequest(nlohmann::json& body);
// Another value for one that is there: POST /v1/secrets/NAME/rotate.
Result<std::string> ParseSecretValue(nlohmann::json& body);

// 1 to 64 of [A-Za-z0-9_.-], the first a letter or a digit.
bool IsValidSecretName(std::string_view name);
bool IsValidVariable(std::string_view name);
std::string VariableOf(std::string_view secret);  // github-token: GITHUB_TOKEN

}  // namespace cloche
