#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/state_layout.h"
#include "spawn/failure.h"

namespace cloche::spawn {

// A directory that was renamed inside is stored as a name and a note of where the base has its
// content (a redirect). A promotion moves the base: what such a directory shows must be in the
// upper by then.

// Which of the renamed directories have lost their origin: the base has nothing there any more, or
// another directory. `fd` turns a number of the layout into a descriptor.
void MarkLost(StateLayout& layout, const std::function<int(int32_t)>& fd);

// The renamed directories of a slot that still depend on the base, and that a promotion of `asked`
// (paths inside; none: of everything) could move, or move the content of.
std::vector<std::string> DependentOnBase(const StateLayout& layout, uint32_t slot,
                                         const std::vector<std::string>& asked);
bool DependsOnBase(const StateLayout& layout, const std::vector<std::string>& asked);

// Puts a directory that holds everything itself in the place of the renamed one at `path`. `view`
// is the root of the overlay: what the kernel remembers of the old directory goes with it. Nobody
// else may change anything in there meanwhile. `in_use`: working directories of processes, which
// must not be among those that are replaced. `linked`: files with several names that were copied so
// far, also out of other renamed directories of the view. When `cancelled` is set it stops and
// cleans up.
using FileNumber = std::pair<dev_t, ino_t>;
using LinkedFiles = std::map<FileNumber, std::string>;  // the first name that was made
OrFailure<void> CopyRenamed(int view, const std::set<FileNumber>& in_use, const std::string& path,
                            LinkedFiles& linked, const volatile sig_atomic_t& cancelled);

// Of all processes in the mount namespace of `init`.
std::set<FileNumber> WorkingDirectories(pid_t init);

}  // namespace cloche::spawn
