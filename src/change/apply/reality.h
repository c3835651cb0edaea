#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::apply {

// One file at one moment. Every change to the file changes this.
struct Identity {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: nothing there
  int64_t changed_ns = 0;
  bool exists() const { return inode != 0; }
  bool operator==(const Identity&) const = default;
};
// Ignores changes to the file.
inline bool SameFile(const Identity& a, const Identity& b) {
  return a.device == b.device && a.inode == b.inode;
}
Identity IdentityOf(const struct stat& info);
Identity IdentityAt(int directory, const std::string& name);

struct Name {
  std::shared_ptr<const sys::Fd> directory;
  std::string name;
};

// A real directory tree. Others may change it at any time, so every access goes from directory to
// directory by descriptor, follows no symlink and crosses no mount.
class Reality {
 public:
  // `target` is absolute; no part of it may be a symlink.
  static Result<Reality> Open(const std::string& target);

  const std::string& target() const { return target_; }
  uint64_t device() const { return device_; }
  // For an absolute path at or below the target.
  Result<Name> Find(const std::string& path) const;
  // Opens the directory at an absolute path: the target, or one below it.
  Result<std::shared_ptr<const sys::Fd>> Directory(const std::string& path) const;
  void Forget() const { last_.reset(); }  // after a directory came or went
  int Sync() const;                       // its whole filesystem

 private:
  std::string target_;
  std::shared_ptr<const sys::Fd> root_;
  uint64_t device_ = 0;
  // Changes come sorted: the next one is often in the same directory.
  mutable std::string last_path_;
  mutable std::shared_ptr<const sys::Fd> last_;
};

}  // namespace cloche::apply
