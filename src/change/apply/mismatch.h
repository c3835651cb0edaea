#pragma once

#include <string>
#include <vector>

#include "change/apply/prepare.h"

namespace cloche::apply {

// What a promotion keeps, and what is at its paths, compared with its journal. A sentence for each
// path where they do not fit together: what was there before is then not known, and nothing must be
// taken back. Nothing is touched.
std::vector<std::string> FindMismatches(const Promotion& promotion, const Store::Entry& entry,
                                        const Realities& realities);

// What a step keeps, once all are done. 0: it keeps nothing, or others may rightly change it.
int64_t KeptAt(const Step& step, const Store::Entry& entry);
// The same of a file that has other names; 0: it has none.
int64_t LinkedAt(const Step& step, const Store::Entry& entry);

// Where it is, for people.
std::string KeptName(const Step& step, const Store::Entry& entry, const std::string& name);

}  // namespace cloche::apply
