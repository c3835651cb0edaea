#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cloche {

// The requests about changes of openapi.yaml, checked like those of request.h.

struct DiffRequest {
  std::string snapshot;  // of the sandbox; "" = its present state
  std::string against;   // snapshot of it, or another sandbox; "" = reality
  bool patch = false;
  bool lines = false;
  std::string root;  // of names in a patch; "" = the project
  std::vector<std::string> paths;
};

struct PromotionRequest {
  std::string snapshot;
  std::vector<std::string> paths;  // that it is about; none: it may be about any
  nlohmann::json asked;            // all of it, as cloche-promote reads it
};

// From the query of a URL.
Result<DiffRequest> ParseDiffRequest(const std::vector<std::pair<std::string, std::string>>& query);

// {digest, snapshot, paths, exclude, dry_run, with_noise, allow_triggers, ...}
Result<PromotionRequest> ParsePromotionRequest(const nlohmann::json& body);

// {paths}: directories of reality that are about to go.
Result<std::vector<std::string>> ParseFlattenRequest(const nlohmann::json& body);

}  // namespace cloche
