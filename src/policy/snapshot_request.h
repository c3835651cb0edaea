#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "policy/limits.h"

namespace cloche {

// The requests about saved states of openapi.yaml, checked like those of request.h.

struct SnapshotRequest {
  std::string name;  // "" = none
  std::string note;
};

struct RollbackRequest {
  std::string snapshot;  // id, beginning of one, or name; "" = the one it was equal to last
  bool undo_command = false;
};

struct ForkRequest {
  size_t count = 1;
  std::vector<std::string> names;  // none, or one each
  Limits limits;                   // those that are smaller than the parent's
};

Result<SnapshotRequest> ParseSnapshotRequest(const nlohmann::json& body);
Result<RollbackRequest> ParseRollbackRequest(const nlohmann::json& body);
Result<ForkRequest> ParseForkRequest(const nlohmann::json& body);

}  // namespace cloche
