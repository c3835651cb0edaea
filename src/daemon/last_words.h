#pragma once

#include <exception>
#include <string>

#include "daemon/event.h"

// How daemons end (docs/formats/ends.md). One that ends for a bug says why, from a signal handler
// if need be; one that could not is noticed by the next. `cloche doctor` shows both.
namespace cloche::daemon {

// Opens the records in `directory`, notices how the daemon before us ended, and says that we are
// here. Fatal signals and std::terminate write a record from now on.
void BeginRecords(const std::string& directory);
// Whoever comes next finds nothing to notice.
void SayGoodbye();
// We end, and not because somebody wanted it.
void RecordEnd(const std::string& why);
// A bug that ended no more than what it happened in.
void RecordException(std::exception_ptr exception, const char* where);

// The records there are, oldest first: [{at, pid, version, why, kind: bug|gone|exception, frames}].
Json ReadEnds(const std::string& directory);

}  // namespace cloche::daemon
