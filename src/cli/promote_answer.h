#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/print.h"

namespace cloche::cli {

// The answer of cloche-promote. There may be a million changes: as text they take a tenth of what
// they would take as JSON.
struct PromoteAnswer {
  Json json;                         // without them
  std::vector<std::string> changes;  // lines of docs/formats/changes.md
};
Result<PromoteAnswer> AskPromote(const std::string& target, const Json& body);

void PrintAnswer(const PromoteAnswer& answer);  // with them, as one value

}  // namespace cloche::cli
