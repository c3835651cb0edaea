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

struct LookRequest {
  std::string snapshot;  // of the sandbox; "" = its present state
  std::string against;   // snapshot of it, or another sandbox; "" = reality
  bool patch = false;
  bool lines = false;
  nlohmann::json promote;  // what cloche-promote is asked instead; null: nothing
  bool stale = false;      // not what it changed, but what changed outside meanwhile
  bool guard = false;      // and what both changed, whole
  std::string root;        // of names in a patch; "" = the project
  std::vector<std::string> paths;
  bool much = false;              // more than can be looked at while the sandbox stands still
  int flattened = 0;              // how often renamed directories were copied for it
  bool others_flattened = false;  // and those of other sandboxes that it takes the content of
};

// From the query of a URL.
Result<LookRequest> ParseLookRequest(const std::vector<std::pair<std::string, std::string>>& query);

// Of a promotion: {digest, snapshot, paths, exclude, dry_run, with_noise, allow_triggers}.
Result<LookRequest> ParsePromoteRequest(const nlohmann::json& body);

Result<SnapshotRequest> ParseSnapshotRequest(const nlohmann::json& body);
Result<RollbackRequest> ParseRollbackRequest(const nlohmann::json& body);
Result<ForkRequest> ParseForkRequest(const nlohmann::json& body);

}  // namespace cloche
