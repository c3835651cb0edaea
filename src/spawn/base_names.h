#pragma once

#include <string>

#include "spawn/failure.h"

#include "sys/fd.h"

namespace cloche::spawn {

// Resolves links in a sandbox's base. Paths are absolute, as inside. An empty answer: nothing is
// there, or nothing that we may enter.
class BaseNames {
 public:
  // `base`: the directory that is "/" inside; -1: the host's own root is.
  explicit BaseNames(int base) : base_(base) {}

  // The same path, with no link on the way to its last name.
  OrFailure<std::string> Behind(const std::string& path);
  // The target of the link at `path`, again with no link on the way to the last name. Empty, too,
  // if no link is there.
  OrFailure<std::string> Target(const std::string& path);

 private:
  OrFailure<std::string> Directory(const std::string& path) const;
  int Open(const std::string& path) const;

  int base_;
  // The last directory, cached: most names are neighbours.
  std::string asked_, behind_;
  std::string opened_;
  sys::Fd directory_;
};

}  // namespace cloche::spawn
