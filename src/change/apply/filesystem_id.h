#pragma once

#include <string>

#include "change/apply/prepare.h"

namespace cloche::apply {

Mark MarkAt(int directory, const std::string& name);  // "" = the directory itself
// Whether it is the same file. Where a file system has another number than it had, its inode alone
// does not tell.
bool IsSame(const Mark& then, const Mark& now);

// Of every file system that a promotion is about: what it is known by.
std::vector<FilesystemId> FindFilesystemIds(const Promotion& promotion, const Store::Entry& entry,
                                            const Realities& realities);
// Gives everything that the journal knows the device numbers of today. Fails where something is not
// what it was: then nothing can be said about it.
Status Recognize(Promotion& promotion, const Store::Entry& entry, const Realities& realities);

}  // namespace cloche::apply
