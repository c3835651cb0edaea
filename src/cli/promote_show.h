#pragma once

#include <string>

#include "cli/promote_answer.h"
#include "cli/surroundings.h"

namespace cloche::cli {

// Shows the answer of cloche-promote to a person.
void TellRecovered(const Json& answer);  // a crash was put right just now
void ShowPlan(const PromoteAnswer& plan, const Surroundings& around);  // what is dangerous first
void ShowConflicts(const Json& plan);  // on standard error, both sides
void ListOnStandardError(const std::string& line);

}  // namespace cloche::cli
