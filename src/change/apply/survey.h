#pragma once

#include <map>
#include <optional>
#include <string>

#include "change/rules/cases.h"
#include "change/walk/layer_file.h"

namespace cloche::apply {

// Looks at reality before anything is touched: what keeps a path from being changed, whatever the
// change is. By descriptor from directory to directory, through no symlink, onto no other mount.
class Survey {
 public:
  // In an overlay's `target`, above or equal to the path. Nothing: nothing keeps it.
  std::optional<rules::Real> Obstacle(const std::string& target, const std::string& path);

  // What is there now; nothing where there is nothing, or no way to it.
  std::optional<walk::LayerFile> Find(const std::string& target, const std::string& path);

 private:
  // Changes come sorted: the last directory is often the next.
  struct Directory {
    std::string path;
    walk::SharedFd fd;
    int error = 0;
    bool writable = false, sticky = false, immutable = false, folds_case = false;
    uint32_t owner = 0;
  };
  const Directory& Parent(const std::string& target, const std::string& path);

  std::map<std::string, sys::Fd> targets_;
  Directory last_;
};

}  // namespace cloche::apply
