#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/state_layout.h"
#include "spawn/failure.h"

namespace cloche::spawn {

// A directory that was renamed inside is stored as a name and a note of where the base has its
// content (a redirect). A promotion moves the base: what such a directory shows must be in the
// upper by then.

// Which of the renamed directories have lost their origin: the base has nothing there any more, or
// another directory. `fd` turns a number of the layout into a descriptor.
void MarkLost(StateLayout& layout, const std::function<int(int32_t)>& fd);

// Any that still depends on the base?
bool DependsOnBase(const StateLayout& layout);

// Puts a directory that holds everything itself in the place of the renamed one at `path`. `view`
// is the root of the overlay: what the kernel remembers of the old directory goes with it. Nobody
// else may change anything in there meanwhile. `in_use`: working directories of processes, which
// must not be among those that are replaced.
using FileNumber = std::pair<dev_t, ino_t>;
Outcome<void> CopyRenamed(int view, const std::set<FileNumber>& in_use, const std::string& path);

// Of all processes in the mount namespace of `init`.
std::set<FileNumber> WorkingDirectories(pid_t init);

}  // namespace cloche::spawn
