#pragma once

#include <string>

#include "pipeline/journal.h"
#include "pipeline/reality.h"
#include "pipeline/run.h"

namespace cloche::pipeline {

// The next action of a stage, as it is now.
Result<Subject> FindSubject(const Run& run, size_t stage);

// For the person who approves: what changes, what was checked, how it is undone, who notices.
std::string DescribeRequest(const Run& run, size_t stage, const Subject& subject,
                            const Journal& journal, bool colour);
Json RequestJson(const Run& run, size_t stage, const Subject& subject);

// Lines for the changes of a plan; those that run later come first.
std::string DescribeChanges(const Subject& subject, const std::string& project, bool colour);
std::string ChangesFile(const Run& run, size_t stage);  // where they stay for later stages

std::string DescribeTarget(const Run& run, size_t stage);    // what happens to what
std::string DescribeRollback(const Run& run, size_t stage);  // and how it is taken back

}  // namespace cloche::pipeline
