#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace cloche::sys {

struct CopyCount {
  uint64_t entries = 0;
  uint64_t bytes = 0;   // of files that had to be copied
  uint64_t shared = 0;  // of files that share their blocks with the original
};

// Copies what is in directory `from` into the empty directory `to`: contents (blocks are shared
// where the file system can), holes, modes, owners, times, extended attributes, hard links,
// symlinks, devices, whiteouts. Nobody may change either meanwhile. Follows no symlink, crosses no
// mount, and takes the same memory however large or deep the tree is. 0 or -errno of the first
// thing that could not be copied; what was copied until then stays. `leave_out`: names in `from`
// itself that are passed over.
int CopyTree(int from, int to, CopyCount& count, const std::vector<std::string>& leave_out = {});

// Owner, mode, extended attributes and times of one directory, onto another. 0 or -errno.
int CopyDirectoryStatus(int from, int to);

// The content of one file, into an empty one: blocks are shared where that works, holes stay holes.
int CopyFile(int from, int to, off_t size);

}  // namespace cloche::sys
