#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::apply {

// One file as it is at one moment. Whoever changes it in any way changes this.
struct Identity {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: there is nothing
  int64_t changed_ns = 0;
  bool exists() const { return inode != 0; }
  bool operator==(const Identity&) const = default;
};
// Whatever became of it since.
inline bool SameFile(const Identity& a, const Identity& b) {
  return a.device == b.device && a.inode == b.inode;
}
Identity IdentityOf(const struct stat& info);
Identity IdentityAt(int directory, const std::string& name);

struct Name {
  std::shared_ptr<const sys::Fd> directory;
  std::string name;
};

// The real file tree, below one directory. Others may change it at any time: every step goes from
// directory to directory by descriptor, follows no symlink and crosses no mount.
class Reality {
 public:
  // `target` absolute; nothing in it may be a symlink.
  static Result<Reality> Open(const std::string& target);

  const std::string& target() const { return target_; }
  uint64_t device() const { return device_; }
  // Of an absolute path at or below the target.
  Result<Name> Find(const std::string& path) const;
  // The directory at an absolute path: the target itself, or one below it.
  Result<std::shared_ptr<const sys::Fd>> Directory(const std::string& path) const;
  void Forget() const { last_.reset(); }  // a directory came or went
  int Sync() const;                       // its whole file system

 private:
  std::string target_;
  std::shared_ptr<const sys::Fd> root_;
  uint64_t device_ = 0;
  // Changes come sorted: the last directory is often the next.
  mutable std::string last_path_;
  mutable std::shared_ptr<const sys::Fd> last_;
};

}  // namespace cloche::apply
