#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cloche::service {

// Data on its way from a snapshot of the machine into a sandbox, by a pipe: the sandbox must not
// see the snapshot, which holds more. It is the tar of the machine that packs, and that of its copy
// that unpacks.
bool CanPack();  // it is GNU tar

// Becomes tar, and writes what is in `directory` to standard output, without the paths `leave_out`
// below it. Returns only when it cannot.
Status Pack(const std::string& directory, const std::vector<std::string>& leave_out);

// In the sandbox: what comes by standard input is what shall take the place of directory `path`,
// the `number`th of a service.
Status Unpack(const std::string& path, size_t number);
// All of them do. By now there must be no snapshot: one in such a directory could not be hidden.
Status Place(const std::vector<std::string>& paths);

}  // namespace cloche::service
