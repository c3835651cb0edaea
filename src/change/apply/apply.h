#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "change/apply/held_file.h"
#include "change/apply/prepare.h"

namespace cloche::apply {

using FileNumber = std::pair<uint64_t, uint64_t>;  // device and inode

// Files that the steps so far have taken out of reality.
struct Taken {
  std::map<FileNumber, FileFacts> linked;  // with several names: a later step may meet another
  std::vector<int64_t> changed_ns;         // the others, by step: their ctime after the rename
};

// Puts one step into place with one rename, if reality still has what was examined. The old file is
// then in the store.
Status Apply(const Step& step, const Store::Entry& entry, const Realities& realities, bool root,
             Taken& taken);
// Run once all steps are done: a process that found a file before it was taken away may have
// written to it since, or be about to.
Status CheckKept(const Step& step, const Store::Entry& entry, const Taken& taken);
// Reverts one step, whether it was done or not. Fails if somebody has changed the path since.
Status Revert(const Step& step, const Store::Entry& entry, const Realities& realities, bool root);
// Sets again what IsDone cannot see of a directory, unless somebody has changed it since.
Status SetAgain(const Step& step, const Realities& realities, bool root);
// Gives us access to a directory that a step closed or will close, so that steps below it can be
// reverted.
Status Reopen(const Step& step, const Realities& realities);
// Restores the directory's modification time.
Status Revert(const Parent& parent, const Realities& realities);

// Whether a step is on disk. The store tells, because only we write to it.
bool IsDone(const Step& step, const Store::Entry& entry, const Realities& realities);

// The ctime in reality now; 0 if nothing is there.
int64_t LeftAt(const Step& step, const Realities& realities);
int64_t LeftAt(const Parent& parent, const Realities& realities);
// Whether somebody has written to a file since it was prepared.
bool IsWritten(const Step& step, int directory, const std::string& name);
// Whether reality still has what the step put at this path.
bool StillOurs(const Step& step, int64_t left_ns, const Realities& realities, bool root);

}  // namespace cloche::apply
