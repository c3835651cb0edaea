#pragma once

#include <string>

#include "change/apply/prepare.h"

namespace cloche::apply {

Mark MarkAt(int directory, const std::string& name);  // "" = the directory itself
// Whether it is the same file. If the filesystem has another device number, the inode alone does
// not prove it.
bool IsSame(const Mark& then, const Mark& now);

// Identifies each filesystem of a promotion.
std::vector<FilesystemId> FindFilesystemIds(const Promotion& promotion, const Store::Entry& entry,
                                            const Realities& realities);
// Replaces device numbers in the journal by today's. Fails if something is not what it was, because
// then nothing can be said about it.
Status Recognize(Promotion& promotion, const Store::Entry& entry, const Realities& realities);

}  // namespace cloche::apply
