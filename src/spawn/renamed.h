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

// A directory renamed inside is stored as a name and a note of where the base has its content (a
// redirect). A promotion moves the base, so the content that such a directory shows must be in the
// upper by then.

// Marks the renamed directories that have lost their origin: the base has nothing there any more,
// or another directory. `fd` maps a number in the layout to a descriptor.
void MarkLost(StateLayout& layout, const std::function<int(int32_t)>& fd);

// The renamed directories of a slot that still depend on the base, and that a promotion of `asked`
// (paths inside; empty: everything) could move, or move the content of.
std::vector<std::string> DependentOnBase(const StateLayout& layout, uint32_t slot,
                                         const std::vector<std::string>& asked);
bool DependsOnBase(const StateLayout& layout, const std::vector<std::string>& asked);

// Replaces the renamed directory at `path` by one that contains everything itself. `view` is the
// root of the overlay, so the kernel drops what it cached about the old directory. Nobody else may
// change anything in there meanwhile. `in_use`: working directories of processes, which must not be
// among those replaced. `linked`: files with several names copied so far, including from other
// renamed directories of the view. If `cancelled` is set, it stops and cleans up.
using FileNumber = std::pair<dev_t, ino_t>;
using LinkedFiles = std::map<FileNumber, std::string>;  // the first name made
OrFailure<void> CopyRenamed(int view, const std::set<FileNumber>& in_use, const std::string& path,
                            LinkedFiles& linked, const volatile sig_atomic_t& cancelled);

// The working directories of all processes in the mount namespace of `init`.
std::set<FileNumber> WorkingDirectories(pid_t init);

}  // namespace cloche::spawn
