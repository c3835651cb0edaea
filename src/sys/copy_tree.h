#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace cloche::sys {

struct CopyCount {
  uint64_t entries = 0;
  uint64_t bytes = 0;   // of files that had to be copied
  uint64_t shared = 0;  // of files that share blocks with the original
};

// Copies the contents of directory `from` into the empty directory `to`: data (sharing blocks where
// the filesystem can), holes, modes, owners, times, extended attributes, hard links, symlinks,
// devices, whiteouts. Neither may change meanwhile. Follows no symlink, crosses no mount, and needs
// the same memory however large or deep the tree is. 0 or -errno of the first failure; what was
// copied until then stays. `leave_out`: names in `from` itself to skip.
int CopyTree(int from, int to, CopyCount& count, const std::vector<std::string>& leave_out = {});

// Copies owner, mode, extended attributes and times from one directory to another. 0 or -errno.
int CopyDirectoryStatus(int from, int to);

// Copies the content of one file into an empty one: shares blocks where that works, keeps holes.
int CopyFile(int from, int to, off_t size);

}  // namespace cloche::sys
