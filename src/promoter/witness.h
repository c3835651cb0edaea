#pragma once

#include <string>

#include "promoter/stage.h"

namespace cloche::promoter {

Mark MarkAt(int directory, const std::string& name);  // "" = the directory itself
// Whether it is the same file. Where a file system has another number than it had, its inode alone
// does not tell.
bool IsSame(const Mark& then, const Mark& now);

// Of every file system that a promotion is about: what it is known by.
std::vector<Witness> FindWitnesses(const Promotion& promotion, const Store::Entry& entry,
                                   const Realities& realities);
// Gives everything that the journal knows the device numbers of today. Fails where something is not
// what it was: then nothing can be said about it.
Status Recognize(Promotion& promotion, const Store::Entry& entry, const Realities& realities);

}  // namespace cloche::promoter
