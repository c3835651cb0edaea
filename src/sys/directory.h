#pragma once

#include <dirent.h>

#include "sys/fd.h"

namespace cloche::sys {

// The entries of a directory except "." and "..", read on demand, so a directory that an attacker
// filled costs no memory.
class Directory {
 public:
  explicit Directory(Fd fd);
  Directory(int dir, const char* path);  // follows no symlink in its last component
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  // Valid until the next call; nullptr at the end, on failure, and if not valid.
  const dirent* Next();
  int error() const { return error_; }  // errno of opening or reading, 0 if neither failed

 private:
  Fd fd_;
  int error_ = 0;
  ssize_t used_ = 0, at_ = 0;
  alignas(dirent) char entries_[8192];
};

bool IsEmptyDirectory(int dir, const char* path);

// Removes `name` below `dir` with everything in it. Follows no symlink and crosses no mount.
// Bounded stack: goes down one directory at a time. 0 or -errno of the first entry that stayed.
int RemoveTree(int dir, const char* name);

}  // namespace cloche::sys
