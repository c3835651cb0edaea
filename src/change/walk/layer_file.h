#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "change/model/change.h"
#include "sys/fd.h"

namespace cloche::walk {

using SharedFd = std::shared_ptr<const sys::Fd>;

// A file in one directory of one layer. An attacker may have written the layer: only the last
// component is looked up, and no symlink is followed.
struct LayerFile {
  SharedFd directory;
  std::string name;
  struct stat info {};
  bool mount_root = false;  // something is mounted there

  bool IsDirectory() const { return S_ISDIR(info.st_mode); }
  bool IsFile() const { return S_ISREG(info.st_mode); }
  // overlayfs marks deletions like this.
  bool IsWhiteout() const { return S_ISCHR(info.st_mode) && info.st_rdev == 0; }
};

std::optional<LayerFile> FindFile(const SharedFd& directory, const std::string& name);
SharedFd OpenDirectory(const LayerFile& place);  // null: not readable
sys::Fd OpenFile(const LayerFile& place);        // invalid: not readable, or no longer a file

bool BornSince(const LayerFile& place, int64_t since_ns);  // true if unknown

// Everything except the content. `user_xattr`: overlayfs keeps its notes in user attributes.
Result<change::Side> Describe(const LayerFile& place, bool user_xattr);

}  // namespace cloche::walk
