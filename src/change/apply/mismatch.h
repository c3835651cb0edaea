#pragma once

#include <string>
#include <vector>

#include "change/apply/prepare.h"

namespace cloche::apply {

// Compares what a promotion keeps, and what is at its paths, with its journal. Returns a sentence
// for each path where they do not fit: the old state is then unknown, and nothing may be reverted.
// Changes nothing.
std::vector<std::string> FindMismatches(const Promotion& promotion, const Store::Entry& entry,
                                        const Realities& realities);

// The ctime of what a step keeps, once all steps are done. 0: it keeps nothing, or others may
// legitimately change it.
int64_t KeptAt(const Step& step, const Store::Entry& entry);
// The same for a file with other names; 0: it has none.
int64_t LinkedAt(const Step& step, const Store::Entry& entry);

// Where it is, for messages.
std::string KeptName(const Step& step, const Store::Entry& entry, const std::string& name);

}  // namespace cloche::apply
