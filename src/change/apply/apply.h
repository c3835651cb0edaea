#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "change/apply/held_file.h"
#include "change/apply/prepare.h"

namespace cloche::apply {

using FileNumber = std::pair<uint64_t, uint64_t>;  // device and inode

// What steps have taken away from reality so far.
struct Taken {
  std::map<FileNumber, FileFacts> linked;  // those with more names: a later step may meet another
  std::vector<int64_t> changed_ns;  // of the others, by step: the time of change they got then
};

// Puts one step into place, in one rename, if reality still is what it was. What was there lies in
// the store then.
Status Apply(const Step& step, const Store::Entry& entry, const Realities& realities, bool root,
             Taken& taken);
// Once all steps are done: whoever had found a file before it was taken away may have written in it
// since, or be about to.
Status CheckKept(const Step& step, const Store::Entry& entry, const Taken& taken);
// Takes one step back, whether it was done or not. Not: somebody has changed it since.
Status Revert(const Step& step, const Store::Entry& entry, const Realities& realities, bool root);
// What IsDone cannot see of a directory, once more; not if somebody has changed it since.
Status SetAgain(const Step& step, const Realities& realities, bool root);
// Makes a directory that a step closed or will close passable for what is to be taken back in it.
Status Reopen(const Step& step, const Realities& realities);
// The time of modification it had.
Status Revert(const Parent& parent, const Realities& realities);

// Whether a step is on disk. The store tells: nobody else changes that.
bool IsDone(const Step& step, const Store::Entry& entry, const Realities& realities);

// Its time of change in reality now; 0: there is nothing.
int64_t LeftAt(const Step& step, const Realities& realities);
int64_t LeftAt(const Parent& parent, const Realities& realities);
// Whether a file has been written in since it was prepared.
bool IsWritten(const Step& step, int directory, const std::string& name);
// Whether reality still has at this path what the step put there.
bool StillOurs(const Step& step, int64_t left_ns, const Realities& realities, bool root);

}  // namespace cloche::apply
