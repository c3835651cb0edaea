#pragma once

#include <string>

#include "base/result.h"
#include "cli/promote_answer.h"

namespace cloche::cli {

// A person chooses files and hunks of a plan that was asked for with its texts. `body`, the
// request, gets what was left out and what was chosen line by line. False: nothing was chosen.
bool ChooseChanges(const PromoteAnswer& plan, Json& body);

// `body` leaves out what makes something run later, with the new directories that would be empty
// without it.
void SkipTriggers(const PromoteAnswer& plan, Json& body);

// Runs `tool BASE REALITY SANDBOX MERGED` for each conflict of texts; what it leaves in MERGED goes
// into `body`. How many were resolved.
Result<size_t> MergeByTool(const std::string& tool, const Json& plan, Json& body);

}  // namespace cloche::cli
