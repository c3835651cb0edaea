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

// A file as it lies in one directory of one layer. Whoever wrote the layer may be an attacker: only
// the last component is looked at, and no symlink is followed.
struct LayerFile {
  SharedFd directory;
  std::string name;
  struct stat info {};
  bool mount_root = false;  // something is mounted there

  bool IsDirectory() const { return S_ISDIR(info.st_mode); }
  bool IsFile() const { return S_ISREG(info.st_mode); }
  // How overlayfs writes "deleted".
  bool IsWhiteout() const { return S_ISCHR(info.st_mode) && info.st_rdev == 0; }
};

std::optional<LayerFile> FindFile(const SharedFd& directory, const std::string& name);
SharedFd OpenDirectory(const LayerFile& place);  // null: it cannot be read
sys::Fd OpenFile(const LayerFile& place);  // not valid: it cannot be read, or is none any more

bool BornSince(const LayerFile& place, int64_t since_ns);  // true where it cannot be told

// Everything but the content. `user_xattr`: overlayfs keeps its notes in attributes of the user.
Result<change::Side> Describe(const LayerFile& place, bool user_xattr);

}  // namespace cloche::walk
