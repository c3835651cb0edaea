#pragma once

#include <exception>
#include <string>

#include "daemon/event.h"

// Records how daemons end (docs/formats/ends.md). A daemon that dies from a bug writes why, if
// necessary from a signal handler; if it could not, the next one notices. `cloche doctor` shows
// both.
namespace cloche::daemon {

// Opens the records in `directory`, notices how the previous daemon ended, and marks this one as
// alive. From now on, fatal signals and std::terminate write a record.
void BeginRecords(const std::string& directory);
// A clean exit: the next daemon finds nothing to notice.
void SayGoodbye();
// We end although nobody asked us to.
void RecordEnd(const std::string& why);
// A bug that ended only the operation it happened in.
void RecordException(std::exception_ptr exception, const char* where);

// All records, oldest first: [{at, pid, version, why, kind: bug|gone|exception, frames}].
Json ReadEnds(const std::string& directory);

}  // namespace cloche::daemon
