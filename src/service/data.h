#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/process_table.h"

namespace cloche::service {

// The data of the processes, guessed from what they hold open: their directory if it is their own,
// and the directories of files they write into the middle of (files that are only appended to are
// logs). Symlinks in there to more of the same are followed. A directory many share (/tmp, a home)
// is never taken whole, only the file. None of the answers is below another.
std::vector<std::string> FindData(const HostProcess& first, const std::vector<int>& processes);

// Real, absolute, none below another.
Result<std::vector<std::string>> CheckData(const std::vector<std::string>& paths);

// Processes that have a file below these directories open for writing, except us and our ancestors.
// Only processes we may look at.
std::vector<int> WritersBelow(const ProcessTable& table, const std::vector<std::string>& data);

// Whether the process sees there what we see. In a container, it does not.
bool IsSameFor(int pid, const std::string& path);

uint64_t BytesBelow(const std::vector<std::string>& paths);

}  // namespace cloche::service
